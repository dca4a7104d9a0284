"""The server's clock of a test."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """Seconds since the epoch; moves only when a test says so, and may be set back."""

    now: float = 1_000_000.0
