"""Hosts on the embedded server, at real time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.store.client import SyncStore
from tests.host.shells import SHELLS, SMALL, Shell
from tests.store.clock import Database

MakeHost = Callable[..., Shell]
WINDOW = 4_000


@pytest.fixture
def worker_store(server: EmbeddedServer, database: Database) -> Iterator[SyncStore]:
    """The store as a worker sees it, at the server's own time, empty."""
    store = SyncStore(server.url, timeout=5.0)
    yield store
    store.close()


@pytest.fixture(params=sorted(SHELLS))
def make_host(
    request: pytest.FixtureRequest, server: EmbeddedServer, worker_store: SyncStore
) -> Iterator[MakeHost]:
    """Makes hosts over one of the two shells; all of them end with the test."""
    hosts: list[Shell] = []

    def make(
        *, broker: str | None = None, state: str | None = None, window: int = WINDOW, **options: Any
    ) -> Shell:
        session: dict[str, Any] = {
            "tenant": options.pop("tenant", "acme"),
            "session_id": options.pop("session_id", "chat"),
            "model": options.pop("model", "gpt-test"),
            "context_window": window,
            **{name: options.pop(name) for name in ("dialect", "on_swap") if name in options},
        }
        options.setdefault("policy", SMALL)
        host = SHELLS[request.param](broker or server.url, state, session, **options)
        hosts.append(host)
        return host

    yield make
    for host in hosts:
        host.close()
