"""The stand-in as a fixture: `from tests.standin.fixture import standin` in a conftest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.standin.server import StandIn


@pytest.fixture
def standin() -> Iterator[StandIn]:
    """A stand-in in this process, fresh for each test."""
    with StandIn() as server:
        yield server
