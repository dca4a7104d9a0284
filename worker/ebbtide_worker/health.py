"""Whether a worker process is of use: judged by when things last happened, each noted by whoever saw it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

CALM: Final = 1 / 3
"""The share of `liveness` that may pass without a permit before the worker sends some itself."""

_MOST_BEATS: Final = 64
_READY_TICKS: Final = 2


class Health:
    """A worker's signs of life. All times are seconds of `clock`; may be noted and read by any thread.

    A worker that receives no permit for `liveness` seconds, though it has a free slot and the broker takes
    its own, has a consumer that is stalled. A fair broker serves waiting consumers in turn, so each healthy
    worker soon receives one of those that idle workers send. They send more from tick to tick, since workers
    without a free slot keep some of them.
    """

    def __init__(self, liveness: float, tick: float, clock: Callable[[], float] = monotonic) -> None:
        self._liveness = liveness
        self._tick = tick
        self._clock = clock
        self._heard = self._turned = clock()
        self._store = self._broker = float("-inf")
        self._beats = 0
        self._stopping = False

    def received(self) -> None:
        """A permit came."""
        self._heard = self._clock()
        self._beats = 0

    def excused(self) -> None:
        """No permit can be expected now: no slot is free, the broker is away, the worker stops."""
        self.received()

    def turned(self) -> None:
        """The event loop does its work."""
        self._turned = self._clock()

    def store_answered(self) -> None:
        """The state store did."""
        self._store = self._clock()

    def broker_answered(self) -> None:
        """The broker did."""
        self._broker = self._clock()

    def stop(self) -> None:
        """The worker takes no more jobs."""
        self._stopping = True

    def owed(self) -> int:
        """Return how many permits are to be sent now: none while some come, else twice as many each time.

        One that has been without for too long sends one a time, by which it may still recover.
        """
        silent = self._clock() - self._heard
        if silent < CALM * self._liveness:
            return 0
        if silent >= self._liveness:
            return 1
        self._beats = min(max(1, 2 * self._beats), _MOST_BEATS)
        return self._beats

    def dead(self) -> tuple[str, ...]:
        """Return why the process should be restarted, nothing when it should not."""
        still, silent = self._since(self._turned), self._since(self._heard)
        found = []
        if still >= self._liveness:
            found.append(f"the event loop has stood still for {still:.0f} s: restart the worker")
        elif silent >= self._liveness:
            found.append(
                f"no permit was received for {silent:.0f} s: its consumer stalls, restart the worker"
            )
        return tuple(found)

    def unready(self) -> tuple[str, ...]:
        """Return why the worker can't be counted on for new jobs now, nothing when it can."""
        found = ["it is stopping"] if self._stopping else []
        for what, at in (("state store", self._store), ("broker", self._broker)):
            if self._since(at) > _READY_TICKS * self._tick:
                found.append(f"the {what} has not answered in the last {_READY_TICKS} ticks: check it")
        return (*found, *self.dead())

    def _since(self, at: float) -> float:
        return self._clock() - at
