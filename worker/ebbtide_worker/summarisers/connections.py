"""The clients of one process: one for each endpoint and key, however many models and tenants use it."""

from __future__ import annotations

import secrets
from asyncio import Lock, to_thread
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ebbtide_core.jsonio import digest

if TYPE_CHECKING:
    from ebbtide_worker.summarisers.messages_api import MessagesApi

Connect = Callable[[str, str], "MessagesApi"]
"""Makes the client of a base URL and a key. Runs in a thread: loading the SDK takes a second or more."""

MAX_HOLDERS: Final = 1_000
"""Tenants and references that keep a client open; the one that called longest ago lets go first."""

Holder = tuple[str, str, str]


@dataclass
class _Connection:
    client: MessagesApi
    holders: set[Holder] = field(default_factory=set)
    busy: int = 0


class Connections:
    """Clients by base URL and key. Belongs to one event loop.

    A tenant's reference holds the client of the key that it last led to. A client that nobody holds is
    closed after its last call, so keys that are replaced leave nothing open. Tenants with different keys
    share none. Keys are known by digests of this process's own, so that nothing here can show one.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._salt = secrets.token_bytes(16)
        self._open: dict[bytes, _Connection] = {}
        self._held: OrderedDict[Holder, bytes] = OrderedDict()
        self._lock = Lock()

    @asynccontextmanager
    async def client(
        self, tenant: str, reference: str, base_url: str, key: str
    ) -> AsyncIterator[MessagesApi]:
        """Give the client for one call of a tenant's, whose reference led to this key."""
        name = digest(b"ebbtide/connection", self._salt, base_url.encode(), key.encode())
        connection = self._open.get(name) or await self._connected(name, base_url, key)
        connection.busy += 1
        try:
            await self._hold((tenant, reference, base_url), name, connection)
            yield connection.client
        finally:
            connection.busy -= 1
            await self._close_unused(name)

    async def close(self) -> None:
        """Close all; a later call connects anew."""
        async with self._lock:
            self._held.clear()
            while self._open:
                _, connection = self._open.popitem()
                await connection.client.close()

    async def _connected(self, name: bytes, base_url: str, key: str) -> _Connection:
        async with self._lock:
            if name not in self._open:
                self._open[name] = _Connection(await to_thread(self._connect, base_url, key))
            return self._open[name]

    async def _hold(self, holder: Holder, name: bytes, connection: _Connection) -> None:
        before = self._held.get(holder)
        self._held[holder] = name
        self._held.move_to_end(holder)
        connection.holders.add(holder)
        if before is not None and before != name:
            await self._let_go(holder, before)
        if len(self._held) > MAX_HOLDERS:
            await self._let_go(*self._held.popitem(last=False))

    async def _let_go(self, holder: Holder, name: bytes) -> None:
        if name in self._open:
            self._open[name].holders.discard(holder)
            await self._close_unused(name)

    async def _close_unused(self, name: bytes) -> None:
        connection = self._open.get(name)
        if connection is not None and not connection.holders and not connection.busy:
            del self._open[name]
            await connection.client.close()
