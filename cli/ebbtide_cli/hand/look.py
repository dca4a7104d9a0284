"""How results look to people: tables, facts line by line, durations and times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from rich.console import Console
from rich.table import Table

from ebbtide_core.lineage.chain import Position

DIGITS: Final = 8
"""How much of a digest is shown."""

_STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def ago(seconds: float) -> str:
    """Return a duration in its largest whole unit."""
    return next((f"{seconds // unit:.0f} {name}" for unit, name in _STEPS if seconds >= unit), "now")


def moment(seconds: float) -> str:
    """Return a time since the epoch, to the second, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def position(at: Position) -> str:
    """Return a position, its digest cut short."""
    return f"{at.count:,}:{at.digest.hex()[:DIGITS]}"


def table(*columns: str) -> Table:
    """Return a table without lines."""
    made = Table(box=None, padding=(0, 1), header_style="bold")
    for name in columns:
        made.add_column(name, overflow="fold")
    return made


def show_list(console: Console, rows: Table, found: int, what: str) -> None:
    """Show the rows of what was found, or that there is none; and when --limit left some out."""
    if not found:
        console.print(f"No {what}.")
        return
    console.print(rows)
    if rows.row_count < found:
        console.print(f"{rows.row_count:,} of {found:,} {what}; --limit shows more.")


def show_facts(console: Console, facts: Iterable[tuple[str, str]]) -> None:
    """Show a fact a line, its name before it."""
    for name, value in facts:
        console.print(f"{name:<12}{value}", soft_wrap=True)
