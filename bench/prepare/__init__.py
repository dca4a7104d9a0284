"""(a) What `prepare` costs a host each turn, beside a bare round trip and beside counting anew."""

from __future__ import annotations

from bench.prepare.figures import goals, notes, rows
from bench.prepare.measure import Scale, measured
from bench.report import Result

_COLUMNS = ("each turn, one new exchange", "messages", "median µs", "p99 µs", "round trips", "recounts")


def run(*, quick: bool) -> Result:
    """Measure with 2,000 and 20,000 messages; quick: with a tenth of them."""
    scale = (
        Scale(messages=200, laps=1, turns=5, peers=False)
        if quick
        else Scale(messages=2_000, laps=6, turns=100, peers=True)
    )
    found = measured(scale)
    return Result(
        name="prepare",
        title="(a) prepare: what a turn costs the host",
        columns=_COLUMNS,
        rows=rows(found),
        goals=goals(found),
        notes=notes(found),
    )
