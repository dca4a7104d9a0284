"""What `ebbtide cost` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.table import Table

from ebbtide_cli.cost.comparison import Comparison
from ebbtide_cli.cost.play import Outcome
from ebbtide_cli.cost.ways import COMPACTING, Way
from ebbtide_cli.replay.view import safe

_NAMES: Final = {
    Way.NEVER: "never",
    Way.REACTIVE: "reactive",
    Way.NEWEST_TEN: "newest ten",
    Way.IMMEDIATE: "immediate",
    Way.COST_AWARE: "cost-aware",
}
_COLUMNS: Final = ("all $", "cached $", "uncached $", "summaries $", "compacted", "waited", "over")
_TOKENS: Final = ("read", "written", "input", "output")
_WIDE: Final = 110
"""Columns; those of tokens only where a line has so many characters."""


def show(console: Console, one: Comparison, *, brief: bool) -> None:
    """Show a window's sums, and unless `brief` those of the sessions that outgrow it."""
    console.print(f"[bold]Window {one.window:,}[/]: all {one.sessions:,} sessions")
    console.print(_table(one.sums, wide=console.width >= _WIDE))
    if not brief and one.long_sessions:
        console.print(f"Only the {one.long_sessions:,} that outgrow it")
        console.print(_table(one.outgrown, wide=console.width >= _WIDE))
    if one.sessions:
        console.print(_verdict(one), soft_wrap=True)
    console.print()


def _table(sums: Mapping[Way, Outcome], *, wide: bool) -> Table:
    best = min(COMPACTING, key=lambda way: sums[way].dollars)
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("way", no_wrap=True)
    for name in (*_COLUMNS, *_TOKENS) if wide else _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for way, found in sums.items():
        cells = [*_cells(found), *_tokens(found)] if wide else _cells(found)
        table.add_row(_NAMES[way], *cells, style="bold" if way is best else None)
    return table


def _cells(one: Outcome) -> list[str]:
    dollars = (one.dollars, one.cached.dollars, one.uncached.dollars, one.summariser.dollars)
    return [*(f"{d:,.2f}" for d in dollars), *(f"{n:,}" for n in (one.compactions, one.waits, one.over))]


def _tokens(one: Outcome) -> list[str]:
    counts = (one.cached.read, one.cached.written, one.uncached.input, one.cached.output)
    return [f"{n / 1e6:,.2f}M" if n >= 100_000 else f"{n:,}" for n in counts]


def _verdict(one: Comparison) -> str:
    found = one.verdict
    return (
        f"Cost-aware against the cheapest compacting way of each session: within 10 % in "
        f"{found.near:.1%}, worst {found.ratio:.2f} times ({safe(found.worst)})"
    )
