"""What turns took while store or broker was frozen or gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.samples import percentile

from chaos.evidence import Evidence, Happened
from chaos.fault import Group
from chaos.faults import BY_NAME
from chaos.fleet import host_of
from chaos.journal import Turn
from ebbtide import Policy

BUDGET: Final = Policy().io_budget
P99: Final = BUDGET + 0.1
MOST: Final = 2 * BUDGET + 0.3
"""Seconds that `prepare` may take then, but for waiting for a record: in 99 of 100 turns, and ever."""


@dataclass(frozen=True, slots=True)
class Outages:
    """Turns begun, or under way, while a server was away, and the seconds that they took, waiting for a
    record left out.
    """

    turns: int
    p99: float
    most: float

    @property
    def kept(self) -> bool:
        """Were the promises kept?"""
        return self.p99 <= P99 and self.most <= MOST


def outages(found: Evidence, group: Group) -> Outages:
    """Return what turns took while one of the servers was away.

    The first turn of a process, which loads what later ones have, and turns whose host was itself stopped
    are left out.
    """
    away = [each for each in found.happened if each.planned.group is group and _is_away(each)]
    took = [turn.took - turn.waited for turn in _judged(found) if any(_meet(turn, each) for each in away)]
    return Outages(len(took), percentile(took, 0.99), max(took)) if took else Outages(0, 0.0, 0.0)


def _is_away(each: Happened) -> bool:
    return BY_NAME[each.planned.name].away


def _judged(found: Evidence) -> Iterator[Turn]:
    stopped = [each for each in found.happened if each.planned.group is Group.HOST]
    for session, turns in found.turns.items():
        own = [each for each in stopped if each.planned.target == host_of(session)]
        for turn in turns:
            if not turn.first and not any(_meet(turn, each) for each in own):
                yield turn


def _meet(turn: Turn, fault: Happened) -> bool:
    return turn.at < fault.ended.clock and turn.at + turn.took > fault.began.clock
