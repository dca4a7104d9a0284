"""What became of the compactions of a session, read off its turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from bench.stall.hosts import Moment


class Outcome(StrEnum):
    """How a compaction ended.

    in time: its record was there, without waiting, at the first turn that would otherwise have reached the
    hard watermark, or before. late: such a turn waited or was degraded. open: the session ended below hard
    first; it counts for nothing.
    """

    IN_TIME = "in time"
    LATE = "late"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Compaction:
    """One compaction, from the turn that first asked for it until its summary is in the buffer.

    `jumped`: the turn that asked had reached hard already, so that no summary could be there. `leapt`: it was
    late since one turn, soon after asking, added more than lies between soft and hard. `held` is what all
    turns meanwhile waited, `room` the time from asking to the first turn at hard or, if it came first, to the
    swap; both in seconds as they passed here.
    """

    outcome: Outcome
    jumped: bool
    leapt: bool
    held: float
    room: float


def compactions(moments: Sequence[Moment]) -> list[Compaction]:
    """Return the compactions of a session, given its turns in order."""
    found: list[Compaction] = []
    going: list[Moment] = []
    for moment in moments:
        if going or moment.asked or moment.compacted:
            going.append(moment)
        if moment.compacted:
            found.append(_ended(going))
            going = []
    return [*found, _ended(going)] if going else found


def _ended(turns: Sequence[Moment]) -> Compaction:
    first = turns[0]
    blocked = next((t for t in turns if t.projected >= t.hard and (t.held or not t.compacted)), None)
    if blocked is not None:
        outcome = Outcome.LATE
    else:
        outcome = Outcome.IN_TIME if turns[-1].compacted else Outcome.OPEN
    leaps = (
        after is blocked and after.projected - before.projected > after.hard - after.soft
        for before, after in pairwise(turns)
    )
    return Compaction(
        outcome=outcome,
        jumped=first is blocked,
        leapt=any(leaps),
        held=sum(t.held for t in turns),
        room=(blocked or turns[-1]).at - first.at,
    )


@dataclass(frozen=True, slots=True)
class Ready:
    """How many of `asked` compactions (those in time or late) were `in_time`; `possible`: had room for one
    call.
    """

    in_time: int
    asked: int
    possible: int

    def reaches(self, share: float) -> bool:
        """Say whether at least such a share was in time; of nothing, none was."""
        return bool(self.asked) and self.in_time >= share * self.asked

    def __str__(self) -> str:
        if not self.asked:
            return "none due"
        return f"{100 * self.in_time / self.asked:.1f} % ({self.in_time} of {self.asked})"


def ready(found: Iterable[Compaction], call: float, *, jumped: bool) -> Ready:
    """Return the ready-in-time ratio. `call`: seconds of one summariser call here. `jumped`: count those
    too.
    """
    asked = [c for c in found if c.outcome is not Outcome.OPEN and (jumped or not c.jumped)]
    return Ready(
        in_time=sum(c.outcome is Outcome.IN_TIME for c in asked),
        asked=len(asked),
        possible=sum(c.outcome is Outcome.IN_TIME or c.room >= call for c in asked),
    )
