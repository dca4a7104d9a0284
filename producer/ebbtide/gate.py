"""Keeps hosts off a store that does not answer."""

from __future__ import annotations

from typing import Final

from ebbtide_core.forking import ForkSafeLock

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 5.0


class Gate:
    """Closed for 0.5 s after a store fault, doubling to 5 s while faults go on; open again after a
    success.

    Times are seconds of one monotonic clock. After a pause one caller tries the store for all: the others
    wait until it succeeded, or for one more pause if it never tells.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._pause = 0.0
        self._until = 0.0
        self._faulted = float("-inf")

    def is_open(self, now: float) -> bool:
        """Say whether no pause goes on at this moment."""
        with self._lock:
            return now >= self._until

    def enter(self, now: float) -> bool:
        """Say whether the caller may ask the store now, and let no other try it after the same pause."""
        with self._lock:
            if now < self._until:
                return False
            self._until = now + self._pause
            return True

    def fault(self, began: float, now: float) -> None:
        """Note that a call which `began` then was not answered.

        One that began before the last fault was noted met the same outage, and prolongs no pause.
        """
        with self._lock:
            if began < self._faulted:
                return
            self._pause = min(LONGEST_PAUSE, self._pause * 2) if self._pause else FIRST_PAUSE
            self._until, self._faulted = now + self._pause, now

    def success(self) -> None:
        """Note that the store answered."""
        if self._pause:
            with self._lock:
                self._pause = self._until = 0.0
