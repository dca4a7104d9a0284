"""How long it takes after a fault until a version is published again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from chaos.evidence import Evidence, Happened

PROMISED: Final = 10.0
"""Seconds within which jobs flow again once a server is back; faults that come alone are held to it."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """The seconds from a fault's end to the next publication, at most; None: there was none any more.

    `alone`: nothing else happened for a while before and after.
    """

    fault: str
    seconds: float | None
    alone: bool

    @property
    def kept(self) -> bool:
        """Did jobs flow as soon as promised?"""
        return self.seconds is not None and self.seconds <= PROMISED


@dataclass(frozen=True, slots=True)
class Spread:
    """What recovery from one kind of fault took, in seconds."""

    times: int
    median: float
    most: float


def recoveries(found: Evidence) -> list[Recovery]:
    """Return the recovery from each fault, in the order of their ends."""
    return [_recovery(found, each) for each in found.happened]


def _recovery(found: Evidence, fault: Happened) -> Recovery:
    over = fault.ended.clock
    seen = next((s.at for s in found.sightings if s.since >= over), None)
    return Recovery(fault.planned.name, None if seen is None else seen - over, fault.planned.alone)


def by_fault(found: Sequence[Recovery]) -> Mapping[str, Spread]:
    """Return what recovery took by the name of the fault, in the alphabet's order."""
    sorted_out = defaultdict[str, list[float]](list)
    for each in found:
        if each.seconds is not None:
            sorted_out[each.fault].append(each.seconds)
    return {name: Spread(len(s), median(s), max(s)) for name, s in sorted(sorted_out.items())}
