"""Store calls that bear a short outage. Only for calls that may run twice without harm."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Protocol, TypeVar

from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.store.script import Call

R = TypeVar("R")

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 2.0


class Store(Protocol):
    """What runs store calls on an event loop."""

    async def run(self, call: Call[R]) -> R:
        """Return the call's result. Raises StoreUnavailable when the server does not answer in time."""


@dataclass(frozen=True, slots=True)
class Patient:
    """Runs calls again, with growing pauses, while the store is away for less than `seconds`."""

    store: Store
    seconds: float
    clock: Callable[[], float] = monotonic

    async def run(self, call: Call[R]) -> R:
        """Return the call's result. Raises StoreUnavailable when the store stays away."""
        until = self.clock() + self.seconds
        pause = FIRST_PAUSE
        while True:
            try:
                return await self.store.run(call)
            except StoreUnavailable:
                if self.clock() + pause > until:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
