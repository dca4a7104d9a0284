"""How large a request is beside its watermarks and window."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ebbtide.turn import Report
from ebbtide_core.policy import Limits


class Zone(StrEnum):
    """Where a size stands: below the soft watermark, from soft on, from hard on."""

    BELOW = "below soft"
    SOFT = "over soft"
    HARD = "over hard"


ZONE_STYLES: Final = {Zone.BELOW: "blue", Zone.SOFT: "yellow", Zone.HARD: "red"}


@dataclass(frozen=True, slots=True)
class Level:
    """The size of a session's request in one turn and what it is held against, in tokens.

    `came`: the request as the host's buffer gave it, `sent`: as it went out, smaller after a swap or as a
    degraded view. `projected`: what the buffer stands at after the turn, so only a swap lowers it.
    """

    projected: int
    came: int
    sent: int
    window: int
    soft: int
    hard: int

    @property
    def share(self) -> float:
        """What the buffer stands at, as a share of the window."""
        return self.projected / self.window

    @property
    def zone(self) -> Zone:
        """Where the buffer stands."""
        if self.projected >= self.hard:
            return Zone.HARD
        return Zone.SOFT if self.projected >= self.soft else Zone.BELOW

    @classmethod
    def empty(cls, limits: Limits) -> Level:
        """Return the level of a session before its first turn."""
        return cls(0, 0, 0, limits.window, limits.soft, limits.hard)

    @classmethod
    def before(cls, report: Report) -> Level:
        """Return how large the request was as it came."""
        came = report.projected
        return cls(came, came, came, report.context_window, report.soft, report.hard)

    @classmethod
    def after(cls, report: Report, *, swapped: bool) -> Level:
        """Return how large the request is as it goes out, and what the buffer stands at then."""
        came = report.projected
        sent = min(report.sent, came)
        projected = sent if swapped and not report.degraded else came
        return cls(projected, came, sent, report.context_window, report.soft, report.hard)
