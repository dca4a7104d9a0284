"""The clock of the store under test: a key of the server that the scripts read instead of its time."""

from __future__ import annotations

from typing import Any, Final

from ebbtide_core.store.script import Scripts

Database = Any
"""A plain `redis.Redis`, whose methods are typed for both of its protocols and for asyncio at once."""

_KEY: Final = "ebbtide:1:{test}:clock"
_KEY_TTL_MS: Final = 3_600_000
_START_MS: Final = 1_800_000_000_000

LUA: Final = f"local function now_ms() return tonumber(redis.call('GET', '{_KEY}')) end"
SCRIPTS: Final = Scripts(clock=LUA)


class Clock:
    """Time stands still until `advance`. The lifetimes of keys follow the server's own time all the same."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.now_ms = _START_MS
        self.write()

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ms += round(seconds * 1000)
        self.write()

    def write(self) -> None:
        """Put the time into the server; needed again after a flush or a restart."""
        self._database.set(_KEY, self.now_ms, px=_KEY_TTL_MS)
