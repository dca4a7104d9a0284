"""What a benchmark gives back: a table, and the goals that it measures against."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

Cell = str | int | float

_MET: Final = {True: "[green]met[/]", False: "[red]missed[/]"}


@dataclass(frozen=True, slots=True)
class Goal:
    """One figure that was aimed for. `goal` says what, with its unit; `measured` what came out."""

    what: str
    goal: str
    measured: str
    met: bool


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark's outcome: a table whose rows were measured in one run, its goals, and remarks.

    `title` says what was asked; the first column names the row. `notes` say how it was measured, and what a
    reader must know to trust it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    goals: tuple[Goal, ...] = ()
    notes: tuple[str, ...] = field(default=())


def show(result: Result, console: Console) -> None:
    """Print the table, the goals below it, then the notes."""
    grid = Grid(title=escape(result.title), title_justify="left", title_style="bold")
    for at, name in enumerate(result.columns):
        grid.add_column(escape(name), justify="right" if at else "left", overflow="fold")
    for row in result.rows:
        grid.add_row(*(escape(text(cell)) for cell in row))
    console.print(grid)
    for goal in result.goals:
        said = f"{goal.what}: {goal.measured} (goal {goal.goal})"
        console.print(f"  {_MET[goal.met]} {escape(said)}", highlight=False)
    for note in result.notes:
        console.print(f"  {escape(note)}", style="dim", highlight=False)
    console.print()


def markdown(result: Result) -> str:
    """Return the table and its goals as Markdown, for the page about performance."""
    lines = [
        "| " + " | ".join(result.columns) + " |",
        "|" + "|".join(["---", *["---:"] * (len(result.columns) - 1)]) + "|",
        *("| " + " | ".join(map(text, row)) + " |" for row in result.rows),
        "",
        *(f"* {g.what}: **{g.measured}**, goal {g.goal}{'' if g.met else ' (missed)'}" for g in result.goals),
    ]
    return "\n".join(lines)


def text(cell: Cell) -> str:
    """Return a cell's text: thousands apart, a fraction with three significant digits."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"


def save(result: Result, machine: dict[str, object], folder: Path) -> Path:
    """Write result and machine as JSON, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    path.write_text(json.dumps({"machine": machine, **asdict(result)}, indent=2), encoding="utf-8")
    return path
