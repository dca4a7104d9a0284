"""Keeps hosts off a store that does not answer."""

from __future__ import annotations

import threading
from typing import Final

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 5.0


class Gate:
    """Closed for 0.5 s after a store fault, doubling to 5 s while faults go on; open again after a
    success."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pause = 0.0
        self._until = 0.0

    def is_open(self, now: float) -> bool:
        """Say whether the store may be asked at this moment (seconds of a monotonic clock)."""
        with self._lock:
            return now >= self._until

    def fault(self, now: float) -> None:
        """Note that the store did not answer."""
        with self._lock:
            self._pause = min(LONGEST_PAUSE, self._pause * 2) if self._pause else FIRST_PAUSE
            self._until = now + self._pause

    def success(self) -> None:
        """Note that the store answered."""
        if self._pause:
            with self._lock:
                self._pause = self._until = 0.0
