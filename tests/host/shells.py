"""Both shells behind one face, so that each test of a host runs over the sync and the async API."""

from __future__ import annotations

import asyncio
import copy
from typing import Any, Protocol

from ebbtide import AsyncPool, AsyncSession, Policy, Pool, Session, Turn
from ebbtide_core.store.client import StoreStats


class Shell(Protocol):
    """One session on one pool."""

    def prepare(self, messages: list[Any], **request: Any) -> Turn:
        """Prepare a turn."""

    def observe(self, usage: Any) -> None:
        """Calibrate."""

    def compact_now(self, messages: list[Any], **request: Any) -> Turn:
        """Prepare a turn after a compaction made now."""

    def cancel(self) -> bool:
        """End the compaction under way."""

    def fork(self, session_id: str) -> Shell:
        """Branch the conversation."""

    def switch(self, **to: Any) -> None:
        """Go on with another model or window."""

    def reset(self) -> None:
        """Begin anew."""

    def flush(self) -> bool:
        """Wait for the background work."""

    def close(self) -> None:
        """Close session and pool."""

    @property
    def stats(self) -> StoreStats:
        """What the turns' store client has sent."""


class SyncShell:
    """The sync API."""

    def __init__(self, broker: str, state: str | None, session: dict[str, Any], **pool: Any) -> None:
        self._pool = Pool(broker, state, **pool)
        self._session: Session = self._pool.session(**session)

    def prepare(self, messages: list[Any], **request: Any) -> Turn:
        return self._session.prepare(messages, **request)

    def observe(self, usage: Any) -> None:
        self._session.observe(usage)

    def compact_now(self, messages: list[Any], **request: Any) -> Turn:
        return self._session.compact_now(messages, **request)

    def cancel(self) -> bool:
        return self._session.cancel()

    def fork(self, session_id: str) -> Shell:
        forked = copy.copy(self)
        forked._session = self._session.fork(session_id)
        return forked

    def switch(self, **to: Any) -> None:
        self._session.switch(**to)

    def reset(self) -> None:
        self._session.reset()

    def flush(self) -> bool:
        return self._pool.flush()

    def close(self) -> None:
        self._session.close()
        self._pool.close()

    @property
    def stats(self) -> StoreStats:
        return self._pool._store.stats


class AsyncShell:
    """The async API on an event loop of its own."""

    def __init__(self, broker: str, state: str | None, session: dict[str, Any], **pool: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._pool = AsyncPool(broker, state, **pool)
        self._session: AsyncSession = self._pool.session(**session)

    def prepare(self, messages: list[Any], **request: Any) -> Turn:
        return self._loop.run_until_complete(self._session.prepare(messages, **request))

    def observe(self, usage: Any) -> None:
        self._session.observe(usage)

    def compact_now(self, messages: list[Any], **request: Any) -> Turn:
        return self._loop.run_until_complete(self._session.compact_now(messages, **request))

    def cancel(self) -> bool:
        return self._loop.run_until_complete(self._session.cancel())

    def fork(self, session_id: str) -> Shell:
        forked = copy.copy(self)
        forked._session = self._session.fork(session_id)
        return forked

    def switch(self, **to: Any) -> None:
        self._session.switch(**to)

    def reset(self) -> None:
        self._loop.run_until_complete(self._session.reset())

    def flush(self) -> bool:
        return self._loop.run_until_complete(self._pool.flush())

    def close(self) -> None:
        self._session.close()
        self._loop.run_until_complete(self._pool.close())
        self._loop.close()

    @property
    def stats(self) -> StoreStats:
        return self._pool._store.stats


SHELLS: dict[str, type[SyncShell | AsyncShell]] = {"sync": SyncShell, "async": AsyncShell}

SMALL = Policy(wait_budget=0.0, io_budget=10.0, swap_ratio=0.70, min_turns_between_swaps=0)
"""A turn at hard doesn't wait, a record is swapped in as soon as it is there; a loaded machine may take its
time over store calls."""
