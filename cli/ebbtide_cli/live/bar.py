"""A bar of cells: how much of a window is filled, and where its watermarks stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import groupby
from typing import Final

from rich.text import Text

from ebbtide_cli.live.level import ZONE_STYLES, Level, Zone


class Fill(Enum):
    """What a cell holds: part of the request, part of what was taken off it, or nothing."""

    FULL = auto()
    SHED = auto()
    EMPTY = auto()


class Mark(Enum):
    """The watermark that stands in a cell."""

    SOFT = auto()
    HARD = auto()


@dataclass(frozen=True, slots=True)
class Cell:
    """One character of a bar."""

    fill: Fill
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of a bar."""

    full: str
    shed: str
    empty: str
    soft: str
    hard: str

    def of(self, cell: Cell) -> str:
        """Return the character of a cell; a mark goes before what is under it."""
        if cell.mark is not None:
            return self.soft if cell.mark is Mark.SOFT else self.hard
        return {Fill.FULL: self.full, Fill.SHED: self.shed, Fill.EMPTY: self.empty}[cell.fill]


BLOCKS: Final = Glyphs("█", "░", "·", "┊", "┃")
ASCII: Final = Glyphs("#", "-", ".", ":", "|")
"""For terminals that show all characters, and for those that do not."""

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"

MARK_STYLES: Final = {Mark.SOFT: ZONE_STYLES[Zone.SOFT], Mark.HARD: ZONE_STYLES[Zone.HARD]}


def marks(level: Level, width: int) -> tuple[int, int]:
    """Return the cells in which the soft and the hard watermark stand: two different ones of at least two."""
    hard = max(1, min(width - 1, level.hard * width // level.window))
    return min(hard - 1, level.soft * width // level.window), hard


def reach(tokens: int, level: Level, width: int) -> int:
    """Return how many cells so many tokens fill: the cell of a mark if and only if they reach the mark."""
    soft, hard = marks(level, width)
    filled = min(width, tokens * width // level.window)
    if tokens >= level.hard:
        return max(filled, hard + 1)
    if tokens >= level.soft:
        return min(max(filled, soft + 1), hard)
    return min(max(filled, int(tokens > 0)), soft)


def cells(level: Level, width: int) -> list[Cell]:
    """Return the bar, `width` cells long: at least two."""
    full, shed = reach(level.sent, level, width), reach(level.came, level, width)
    soft, hard = marks(level, width)
    at = {soft: Mark.SOFT, hard: Mark.HARD}
    return [
        Cell(Fill.FULL if n < full else Fill.SHED if n < shed else Fill.EMPTY, at.get(n))
        for n in range(width)
    ]


def bar(level: Level, width: int, glyphs: Glyphs, shed_style: str) -> Text:
    """Return the bar in colour: the fill by where the size stands, what was taken off in `shed_style`."""
    colour = ZONE_STYLES[level.zone]
    fills = {Fill.FULL: colour, Fill.SHED: shed_style, Fill.EMPTY: "dim"}
    text = Text(end="")
    for cell, run in groupby(cells(level, width)):
        style = _mark_style(cell.mark, cell.fill, colour) if cell.mark else fills[cell.fill]
        text.append(glyphs.of(cell) * len(list(run)), style)
    return text


def _mark_style(mark: Mark, fill: Fill, colour: str) -> str:
    return f"black on {colour}" if fill is Fill.FULL else f"bold {MARK_STYLES[mark]}"


def tide(past: Sequence[Level], width: int, height: int) -> list[Text]:
    """Return `height` lines with a column for each of the last turns: where the buffer stood after it."""
    lines = [Text(end="") for _ in range(height)]
    for level in past[-width:]:
        eighths = max(1, math.ceil(min(1.0, level.share) * height * 8))
        for below, line in enumerate(reversed(lines)):
            line.append(_EIGHTHS[max(0, min(8, eighths - 8 * below))], ZONE_STYLES[level.zone])
    return lines


def scale(level: Level, width: int, glyphs: Glyphs) -> Text:
    """Return the line above bars: each mark's name, with its percentage where there is room, before it."""
    soft, hard = marks(level, width)
    text = Text(end="")
    for mark, at, name, tokens in (
        (Mark.SOFT, soft, "soft", level.soft),
        (Mark.HARD, hard, "hard", level.hard),
    ):
        room = at - len(text)
        long = f"{name} {tokens / level.window:.0%} "
        word = next((w for w in (long, f"{name} ", f"{name}") if len(w) <= room), "")
        text.append(word.rjust(room) + glyphs.of(Cell(Fill.EMPTY, mark)), MARK_STYLES[mark])
    return text
