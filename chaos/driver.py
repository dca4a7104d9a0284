"""Plays a schedule on a fleet: applies each fault when it is due, undoes it, keeps the processes running."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from chaos.evidence import Happened, Moment
from chaos.fault import Planned
from chaos.faults import BY_NAME
from chaos.fleet import Fleet

STEP: Final = 0.05
"""Seconds between two looks at what is due."""

Tell = Callable[[str], object]


def now() -> Moment:
    """Return this moment."""
    return Moment(time.monotonic(), time.time())


@dataclass(frozen=True, slots=True)
class _Under:
    """A fault that is under way."""

    planned: Planned
    began: Moment


class Driver:
    """Plays a schedule. `tell` gets a line for each fault. `happened` are those that are over."""

    def __init__(self, fleet: Fleet, schedule: Iterable[Planned], tell: Tell) -> None:
        self._fleet = fleet
        self._tell = tell
        self._due = sorted(schedule, key=lambda planned: planned.at, reverse=True)
        self._under: list[_Under] = []
        self._begun = now()
        self.happened: list[Happened] = []

    def play(self, seconds: float) -> None:
        """Go through the schedule for so long, and until every fault is undone."""
        self._begun = now()
        while (passed := self._passed()) < seconds or self._under:
            self._undo(passed)
            if passed < seconds:
                self._do(passed)
            self._fleet.tick()
            time.sleep(STEP)

    def _passed(self) -> float:
        return time.monotonic() - self._begun.clock

    def _do(self, passed: float) -> None:
        while self._due and self._due[-1].at <= passed:
            planned = self._due.pop()
            self._tell(line(planned))
            self._under.append(_Under(planned, now()))
            BY_NAME[planned.name].apply(self._fleet, planned)

    def _undo(self, passed: float) -> None:
        over = [each for each in self._under if each.planned.at + each.planned.lasts <= passed]
        for each in over:
            self._under.remove(each)
            BY_NAME[each.planned.name].revert(self._fleet, each.planned)
            self.happened.append(Happened(each.planned, each.began, now()))


def line(planned: Planned) -> str:
    """Return a fault in one line."""
    lasts = f" for {planned.lasts:.1f} s" if planned.lasts else ""
    whom = "" if planned.name.startswith(planned.target) else f", {planned.target}"
    return f"{planned.at:7.1f} s  {planned.name}{whom}{lasts}"
