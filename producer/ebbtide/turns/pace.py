"""How a session has gone since its last swap, and when its last turn was: what the swap policy asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Pace:
    """Turns since the last swap, or since this host began; times in seconds of a monotonic clock.

    `swapped` is the number of the turn that swapped last, None before the first swap; `began` that of the
    same turn, or of the first one.
    """

    swapped: int | None = None
    began: int | None = None
    last: float | None = None

    def note(self, seq: int, now: float, swapped: bool) -> None:
        """Note a turn's number, its time, and whether it swapped a new record in."""
        if swapped:
            self.swapped = seq
        if swapped or self.began is None:
            self.began = seq
        self.last = now

    def since_swap(self, seq: int) -> int | None:
        """Return how many turns ago the last swap was, None when this host has not swapped."""
        return None if self.swapped is None else seq - self.swapped

    def turns(self, seq: int) -> int:
        """Return how many turns ago the last swap was, or the first turn."""
        return 0 if self.began is None else max(0, seq - self.began)

    def idle(self, now: float) -> float | None:
        """Return the seconds since the last request, None before the first: its cache can't be told."""
        return None if self.last is None else max(0.0, now - self.last)

    def cool(self) -> None:
        """Forget the last request: another model shares no cache with it."""
        self.last = None
