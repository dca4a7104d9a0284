"""Fixtures of the protocol's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ebbtide_core.store.client import SyncStore
from tests.protocol.stores import SCRIPTS, PairedStore, RealStore
from tests.protocol.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ebbtide_cli.embedded import EmbeddedServer
    from tests.store.clock import Database


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[SyncStore]:
    """A client that runs the scripts at the injected time, on declared keys only."""
    client = SyncStore(server.url, timeout=10.0, scripts=SCRIPTS)
    yield client
    client.close()


@pytest.fixture
def fresh_pair(client: SyncStore, database: Database) -> Callable[[], PairedStore]:
    """Makes the real store, empty each time, with a model beside it."""

    def make() -> PairedStore:
        database.flushdb()
        return PairedStore(client, database)

    return make


@pytest.fixture
def real(client: SyncStore, database: Database) -> RealStore:
    """The real store alone, empty."""
    return RealStore(client, database)


@pytest.fixture
def paired(fresh_pair: Callable[[], PairedStore]) -> PairedStore:
    """The real store, empty, and the model beside it."""
    return fresh_pair()


@pytest.fixture
def world(paired: PairedStore) -> World:
    """A session on both."""
    return World(paired)
