"""Slots for the paid calls of a process: a free one goes to the job that was begun first."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from itertools import count


class Slots:
    """Bounds how many calls run side by side. Belongs to one event loop.

    Jobs are served in the order in which they joined, so the first ones end, and their places are taken anew,
    while later ones are at work. In turns, all jobs of a process would come to their merges at the same time,
    and leave the provider idle until the next ones are loaded.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._ranks = count()
        self._arrivals = count()

    def join(self) -> Line:
        """Return the line in which a job's calls wait, behind the jobs that joined before."""
        return Line(self, next(self._ranks))

    async def acquire(self, rank: int) -> None:
        """Wait for a slot."""
        if self._free:
            self._free -= 1
            return
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (rank, next(self._arrivals), given))
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot to the call that waits in the first line, or keep it."""
        while self._waiting:
            _, _, given = heappop(self._waiting)
            if not given.done():
                given.set_result(None)
                return
        self._free += 1


class Line:
    """One job's place among those that want slots: `async with line:` holds a slot."""

    def __init__(self, slots: Slots, rank: int) -> None:
        self._slots = slots
        self._rank = rank

    async def __aenter__(self) -> None:
        await self._slots.acquire(self._rank)

    async def __aexit__(self, *_: object) -> None:
        self._slots.release()
