"""Fixtures of the store's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.fleet import Fleet
from tests.store.session import Driver

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore


@pytest.fixture
def session(store: SyncStore) -> Driver:
    """A session without state."""
    return Driver(store)


@pytest.fixture
def fleet(store: SyncStore) -> Fleet:
    """An empty ready index."""
    return Fleet(store)
