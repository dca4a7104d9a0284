"""How wide each part of a session's line is on a terminal of a given width."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ebbtide_cli.live.board import Scene

GAP: Final = 2
MARGIN: Final = 1
BAR_LEAST: Final = 16
BAR_MOST: Final = 60
_NAME_LEAST: Final = 7
_NAME_MOST: Final = 20
_TOKENS_LEAST: Final = 7
_ACTIVITY: Final = 20
_ACTIVITY_LEAST: Final = 16
_GIVEN_UP: Final = ("version", "turn", "tokens", "share", "activity", "name")
"""The parts that a narrow terminal goes without, in this order."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The width of the bar, and of the parts that are shown; those that are not are missing in `parts`."""

    bar: int
    parts: dict[str, int] = field(default_factory=dict)


def columns(scene: Scene, width: int) -> Columns:
    """Return widths that together fit `width` characters, if they can; the bar has at least two cells."""
    parts = _wanted(scene)
    if _rest(width, parts) < BAR_LEAST:
        parts["activity"] = _ACTIVITY_LEAST
    for name in _GIVEN_UP:
        if _rest(width, parts) >= BAR_LEAST:
            break
        del parts[name]
    return Columns(max(2, min(BAR_MOST, _rest(width, parts))), parts)


def _wanted(scene: Scene) -> dict[str, int]:
    tokens = max([scene.empty.window, *(lane.level.projected for lane in scene.lanes if lane)])
    return {
        "name": max(_NAME_LEAST, min(_NAME_MOST, scene.longest_name)),
        "tokens": max(_TOKENS_LEAST, len(f"{tokens:,}")),
        "share": len("100%"),
        "turn": max(len("turn"), 2 * len(f"{scene.most_turns}/") - 1),
        "version": len("v999"),
        "activity": _ACTIVITY,
    }


def _rest(width: int, parts: dict[str, int]) -> int:
    return width - 2 * MARGIN - sum(parts.values()) - GAP * len(parts)
