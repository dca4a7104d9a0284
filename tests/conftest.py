"""What tests of every package share: an embedded server for each test process, and stores on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
import redis
from hypothesis import HealthCheck, settings

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.store.client import AsyncStore, SyncStore
from tests.store.clock import SCRIPTS, Clock, Database
from tests.store.leaks import keys_without_ttl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

TEST_TIMEOUT = 10.0

settings.register_profile(
    "ebbtide",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("ebbtide")


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """A server on a private socket, one for each test process."""
    with EmbeddedServer() as server:
        yield server


@pytest.fixture
def database(server: EmbeddedServer) -> Iterator[Database]:
    """The server's data, empty. After the test, a key of ours without a lifetime fails it (law 12)."""
    client: Database = redis.Redis.from_url(server.url)
    client.flushdb()
    yield client
    immortal = keys_without_ttl(client)
    client.flushdb()
    client.close()
    assert not immortal, f"keys without TTL: {immortal}"


@pytest.fixture
def clock(database: Database) -> Clock:
    """The clock that `store` and `async_store` read."""
    return Clock(database)


@pytest.fixture
def store(server: EmbeddedServer, clock: Clock) -> Iterator[SyncStore]:
    """A store on the empty server, at the injected time."""
    client = SyncStore(server.url, timeout=TEST_TIMEOUT, scripts=SCRIPTS)
    yield client
    client.close()


@pytest_asyncio.fixture
async def async_store(server: EmbeddedServer, clock: Clock) -> AsyncIterator[AsyncStore]:
    """The same store for asyncio."""
    client = AsyncStore(server.url, timeout=TEST_TIMEOUT, scripts=SCRIPTS)
    yield client
    await client.close()
