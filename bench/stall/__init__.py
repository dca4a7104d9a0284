"""What the user waits when compaction is due: inline at 95 %, inline at 70 %, and with Ebbtide."""

from __future__ import annotations

from typing import Final

from bench.report import Result
from bench.stall import remarks
from bench.stall.figures import COLUMNS, counted, goals
from bench.stall.programme import perform, repertoire, settings, warmed
from bench.stall.stage import staged

SCALE: Final = 24.0
QUICK_SCALE: Final = 100.0
"""By what all times are divided."""

LATENCIES: Final = (5.0, 24.0, 60.0)
"""Unscaled seconds that a call of the model takes."""

LASTS: Final = 1_800.0
"""Unscaled seconds within which the sessions of one latency end when nobody waits."""


def run(*, quick: bool) -> Result:
    """Play the sessions once for each latency. Quick: few invented ones, 24 s only, everything faster."""
    scale, latencies = (QUICK_SCALE, (24.0,)) if quick else (SCALE, LATENCIES)
    repertory = repertoire(scale, quick)
    given = settings(repertory, scale, quick)
    with staged(scale) as stage:
        warmed(stage)
        runs = [perform(stage, given, latency, 0.0 if quick else LASTS) for latency in latencies]
    found = counted(runs, scale)
    return Result(
        name="stall",
        title="What the user waits when compaction is due",
        columns=COLUMNS,
        rows=tuple(each.row() for each in found),
        goals=goals(found),
        notes=(
            remarks.sessions(repertory),
            remarks.cadence(repertory),
            *remarks.method(scale),
            *remarks.of_runs(runs, found, scale),
        ),
    )
