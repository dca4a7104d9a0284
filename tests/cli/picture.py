"""Draws `docs/live-view.svg`, the live view in the middle of the demo:  python -m tests.cli.picture

What the sessions did is told by hand, with the sizes of a run of the demo; drawn is what a terminal shows.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.terminal_theme import TerminalTheme

from ebbtide_cli.demo.go import POLICY, WINDOW, introduction
from ebbtide_cli.demo.session import session
from ebbtide_cli.live.board import Board, Scene
from ebbtide_cli.live.frame import Frame
from ebbtide_core.policy import limits
from tests.cli.steps import ask, seen, step, swap

PICTURE: Final = Path(__file__).resolve().parents[2] / "docs" / "live-view.svg"
WIDTH: Final = 100
HEIGHT: Final = 30

_FONTS: Final = "ui-monospace, Menlo, Consolas, DejaVu Sans Mono"
_FONT_PIXELS: Final = 21
"""Blocks of these fonts are then as high as the lines that Rich draws, so that columns have no seams."""

_NEEDLESS: Final = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"@font-face \{.*?\}\s*",
        r"<!--.*?-->\s*",
        r"<defs>.*?</defs>\s*",
        r" clip-path=\"[^\"]*\"",
    )
]
"""Fonts from elsewhere, and clips that cut blocks at the edges of lines."""

_THEME: Final = TerminalTheme(
    (13, 17, 23),
    (201, 209, 217),
    [
        (72, 79, 88), (255, 106, 96), (63, 185, 80), (222, 164, 42),
        (68, 147, 248), (188, 140, 255), (57, 197, 207), (177, 186, 196),
    ],
    [
        (110, 118, 129), (255, 161, 152), (86, 211, 100), (227, 179, 65),
        (121, 192, 255), (210, 168, 255), (86, 212, 221), (255, 255, 255),
    ],
)  # fmt: skip

_GROWN: Final = (
    4_528, 5_029, 8_377, 10_105, 11_821, 11_995, 13_545, 13_724, 15_839, 15_959, 16_086, 16_548, 19_677,
    21_260, 12_524, 12_693, 14_205, 14_390, 16_575, 16_695, 16_837, 17_277, 11_998, 13_778, 15_440, 15_618,
    17_171, 17_368,
)  # fmt: skip
_ASKED: Final = (13, 21, 27)
_SWAPPED: Final = {
    14: {"sent": 10_853, "version": 1, "removed": 17, "count": 17, "summary_tokens": 1_057},
    22: {"sent": 8_777, "version": 2, "removed": 17, "count": 33, "summary_tokens": 1_134},
    28: {"sent": 9_437, "version": 3, "removed": 15, "count": 47, "summary_tokens": 1_235},
}
"""The size of each turn's request in tokens, the turns that asked for a summary, and those that swapped."""

_LIMITS: Final = limits(POLICY, WINDOW)
_MARKS: Final[dict[str, Any]] = {"context_window": WINDOW, "soft": _LIMITS.soft, "hard": _LIMITS.hard}


def scene() -> Scene:
    """Return what the live view holds at the last of these turns."""
    transcript = session()
    board = Board([transcript], _LIMITS)
    jobs = 0
    for number, tokens in enumerate(_GROWN, 1):
        if number in _SWAPPED:
            given = _SWAPPED[number]
            board.looked(transcript, seen(jobs, given["version"], count=given["count"]))
            board.stepped(transcript, swap(number, tokens, **given, **_MARKS))
        elif number in _ASKED:
            board.stepped(transcript, ask(number, tokens, **_MARKS))
            jobs += 1
        else:
            board.stepped(transcript, step(number, tokens, stall=0.0041, **_MARKS))
    return board.scene(now=8.6)


def drawn() -> str:
    """Return the picture as SVG. It names no address but that of SVG itself."""
    console = Console(
        record=True, file=io.StringIO(), force_terminal=True, width=WIDTH, height=HEIGHT, highlight=False
    )
    console.print(introduction(session()))
    console.print(Frame(scene()))
    svg = console.export_svg(title="make demo", theme=_THEME, unique_id="live-view")
    for needless in _NEEDLESS:
        svg = needless.sub("", svg)
    return svg.replace("Fira Code", _FONTS).replace("font-size: 20px", f"font-size: {_FONT_PIXELS}px")


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
