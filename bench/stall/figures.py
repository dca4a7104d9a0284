"""The table and the goals, from the turns that were played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Final

from bench.report import Cell, Goal
from bench.samples import percentile
from bench.stall.compactions import Compaction, Outcome, Ready, compactions, ready
from bench.stall.hosts import Moment
from bench.stall.programme import EBBTIDE, Played, Run

GOAL: Final = 0.99
COLUMNS: Final = (
    "sessions, way",
    "call, s",
    "turns",
    "due",
    "wait, s",
    "p99",
    "max",
    "any turn p99, s",
    "all, s",
    "not whole",
    "ready in time",
    "but jumps",
)


@dataclass(frozen=True)
class Counted:
    """One outcome with its compactions; all times are seconds as in life, nothing scaled."""

    played: Played
    scale: float

    @property
    def name(self) -> str:
        """The sessions, and how they compact."""
        return f"{self.played.setting.name}: {self.played.way.name}"

    @cached_property
    def moments(self) -> list[Moment]:
        """The turns of all sessions."""
        return [moment for moments in self.played.sessions for moment in moments]

    @cached_property
    def compactions(self) -> list[Compaction]:
        """The compactions of all sessions."""
        return [found for moments in self.played.sessions for found in compactions(moments)]

    def ready(self, *, jumped: bool) -> Ready:
        """Return the ready-in-time ratio, with or without those that met a jump."""
        return ready(self.compactions, self.played.latency / self.scale, jumped=jumped)

    @property
    def late(self) -> list[Compaction]:
        """Those that were late without a jump."""
        return [c for c in self.compactions if c.outcome is Outcome.LATE and not c.jumped]

    def unscaled(self, held: float) -> float:
        """Return what waiting for a model comes to in life.

        Of an inline call the model's latency was scaled and the rest is computing. Ebbtide's waiting counts
        as scaled altogether.
        """
        scaled = held if self.played.way.ebbtide else min(held, self.played.latency / self.scale)
        return scaled * self.scale + held - scaled

    def waits(self) -> list[float]:
        """What the user waited for each compaction that was due before its session ended."""
        return [self.unscaled(c.held) for c in self.compactions if c.outcome is not Outcome.OPEN]

    def row(self) -> tuple[Cell, ...]:
        """Return the table's row."""
        waits = self.waits() or [0.0]
        every = [self.unscaled(moment.held) + moment.busy for moment in self.moments]
        ratios = [str(self.ready(jumped=jumped)) for jumped in (True, False)]
        return (
            self.name,
            self.played.latency,
            len(every),
            len(self.waits()),
            median(waits),
            percentile(waits, 0.99),
            max(waits),
            percentile(every, 0.99),
            sum(every),
            sum(not moment.whole for moment in self.moments),
            *(ratios if self.played.way.ebbtide else ("", "")),
        )


def counted(runs: Sequence[Run], scale: float) -> list[Counted]:
    """Return all outcomes, those of sessions of one kind together."""
    found = [Counted(played, scale) for run in runs for played in run.played]
    names = list(dict.fromkeys(each.played.setting.name for each in found))
    return sorted(found, key=lambda each: names.index(each.played.setting.name))


def goals(found: Sequence[Counted]) -> tuple[Goal, ...]:
    """Return the goal for each kind of sessions at the real cadence and each latency."""
    return tuple(
        Goal(
            what=f"ready in time, {each.played.setting.name}, {each.played.latency:g} s a call",
            goal="99 %, jumps left out",
            measured=f"{each.ready(jumped=False)}; with jumps {each.ready(jumped=True)}",
            met=each.ready(jumped=False).reaches(GOAL),
        )
        for each in found
        if each.played.way is EBBTIDE and each.played.setting.cadence == 1
    )
