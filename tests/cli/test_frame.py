"""What the live view looks like: what a person reads, in any size of terminal, with colours and without."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ebbtide_cli.live.bar import ASCII
from ebbtide_cli.live.board import Board, Scene
from ebbtide_cli.live.frame import Frame, rows
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.decide import Action, Reason
from ebbtide_core.policy import Policy, limits
from ebbtide_core.store.results import ClaimStage
from ebbtide_core.views.view import Rung
from tests.cli.command import ANSI
from tests.cli.steps import ask, seen, step, swap
from tests.cli.turns import talk, transcript

WINDOW = 1_000


def sessions(*names: str) -> list[Transcript]:
    """A transcript for each name."""
    return [transcript(talk(40), id=name) for name in names]


def everything() -> Scene:
    """Five sessions, each with something else going on, and one that has not begun."""
    quiet, asked, published, swapped, poor, later = given = sessions(
        "quiet", "asked", "published", "swapped", "poor", "later"
    )
    board = Board(given, limits(Policy(), WINDOW))
    board.stepped(quiet, step(3, 120, stall=0.0043))
    board.stepped(asked, ask(7, 710))
    board.looked(asked, seen(1, stage=ClaimStage.RUNNING))
    board.stepped(published, step(8, 820))
    board.looked(published, seen(2, 2))
    board.stepped(swapped, swap(9, 900, 250, version=3))
    cut: dict[str, Any] = {"degraded": True, "rung": Rung.CLIPPED, "sent": 640, "action": Action.DEGRADE}
    board.stepped(poor, step(12, 1_070, reason=Reason.BREAKER_OPEN, **cut))
    board.lane(later)
    return board.scene(now=83.0)


def drawn(scene: Scene, width: int = 100, height: int = 40, **console: Any) -> str:
    """Return what a terminal of this size is sent."""
    stream = io.StringIO()
    given = {"force_terminal": True, "color_system": "standard", "legacy_windows": False, **console}
    Console(file=stream, width=width, height=height, **given).print(Frame(scene))
    return stream.getvalue()


def plain(scene: Scene, width: int = 100, height: int = 40) -> list[str]:
    """Return the lines that a person reads."""
    return ANSI.sub("", drawn(scene, width, height)).splitlines()


def lines_of(name: str, lines: list[str]) -> list[str]:
    """The lines that begin with a session's name."""
    return [line for line in lines if line.startswith(f" {name} ")]


def test_a_person_reads_how_each_session_stands_and_what_is_going_on() -> None:
    """Name, bar against both marks, tokens, share, turn, version, activity in words; below log and totals."""
    lines = [line.rstrip() for line in plain(everything())]
    head, quiet, asked, published, swapped, poor, later = lines[:7]
    assert re.fullmatch(r" session +soft 70% ┊hard 95% ┃ +tokens +turn +now", head)
    assert re.fullmatch(r" quiet +█{4}·+┊·+┃· +120   12%   3/40 +below soft", quiet)
    assert re.fullmatch(r" asked +█+┊·+┃· +710   71%   7/40 +job 1 running", asked)
    assert re.fullmatch(r" published +█+┊█+·+┃· +820   82%   8/40 +version 2 published", published)
    assert re.fullmatch(r" swapped +█+░+┊░+·*┃· +250   25%   9/40 +v3  swap: version 3 in", swapped)
    assert re.fullmatch(r" poor +█+░+┊░+┃░ +1,070  107%  12/40 +degraded: clipped", poor)
    assert re.fullmatch(r" later +·+┊·+┃· +0    0%   0/40 +starting", later)
    assert len({line.index("┃") for line in lines[:7]}) == 1
    assert any(re.fullmatch(r" asked +turn   7 +job  1 is in the queue; the host goes on", x) for x in lines)
    assert any(re.fullmatch(r" swapped +turn   9 +swap  10 messages .*900 → 250", x) for x in lines)
    assert any(
        re.fullmatch(r" poor +turn  12 +degraded  a view of 640 tokens.*breaker open", x) for x in lines
    )
    assert lines[-1] == (
        " 0/6 sessions · 39/240 turns · 3 jobs · 5 versions · 1 swap · 1 degraded · stall p99 4.3 ms · 1:23"
    )


@pytest.mark.parametrize(
    ("words", "colour"),
    [
        ("job 1 running", "33"),
        ("version 2 published", "36"),
        ("swap: version 3 in", "32"),
        ("degraded: clipped", "31"),
        ("12%", "34"),
        ("71%", "33"),
        ("107%", "31"),
    ],
)
def test_colours_stand_beside_words(words: str, colour: str) -> None:
    """Yellow: job, and over soft; cyan: version; green: swap; red: degraded, and over hard."""
    assert f"\x1b[{colour}m{words}" in re.sub(r"(\x1b\[\d+m) +", r"\1", drawn(everything()))


def test_without_colours_all_is_still_said() -> None:
    """NO_COLOR takes the colours and leaves the characters."""
    coloured, without = (drawn(everything(), no_color=flag) for flag in (False, True))
    assert not re.findall(r"\x1b\[[\d;]*3\dm", without)
    assert ANSI.sub("", without) == ANSI.sub("", coloured)


def test_off_a_terminal_there_are_no_escapes() -> None:
    """A console on a pipe writes plain characters."""
    assert "\x1b" not in drawn(everything(), force_terminal=False, color_system=None)


def alone(*sizes: int) -> Scene:
    """One session whose requests had these sizes."""
    (session,) = sessions("alone")
    board = Board([session], limits(Policy(), WINDOW))
    for number, size in enumerate(sizes, 1):
        board.stepped(session, step(number, size))
    return board.scene(now=0.0)


def test_a_session_that_is_alone_shows_its_tide() -> None:
    """A column for each turn, as high as its share of the window; on a short terminal it gives way."""
    lines = [line.rstrip() for line in plain(alone(50, 400, 800, 2_000, 300))]
    assert lines[3:6] == [f"{'':12}▄█", f"{'':11}▂██", " by turn  ▂████"]
    assert not any("by turn" in line for line in plain(alone(50, 400), height=8))


SCENES = {"all": everything(), "empty": alone(), "alone": alone(10, 500, 900, 2_000)}


@given(st.sampled_from(sorted(SCENES)), st.integers(1, 200), st.integers(1, 60))
def test_a_frame_fits_every_terminal(name: str, width: int, height: int) -> None:
    """No line wraps, and a line stays for the cursor; the smallest terminal gets one line."""
    lines = plain(SCENES[name], width, height)
    assert max(map(len, lines)) <= width
    assert len(lines) <= max(1, height - 1)


def test_a_narrow_terminal_gives_up_what_matters_least() -> None:
    """The bar keeps its cells and both marks; what is left out is in the words or the totals."""
    scene = everything()
    eighty, fifty = (lines_of("published", plain(scene, width))[0] for width in (80, 50))
    assert re.search(r"█+┊█+·+┃·* +820 +82% +8/40", eighty)
    assert re.search(r"█+┊█+·+┃·* +version 2 publi…", fifty)
    assert re.search(r"█+┊█*·+┃·", plain(scene, 24)[3])


def test_a_swap_is_told_whole_on_a_terminal_of_eighty() -> None:
    """Its sizes come last; they are what matters."""
    (session,) = sessions("alone")
    board = Board([session], limits(Policy(), 24_000))
    board.stepped(session, swap(14, 21_260, 10_853, removed=17, summary_tokens=1_057))
    assert any(line.rstrip().endswith(": 21,260 → 10,853") for line in plain(board.scene(0.0), 80))


def test_a_short_terminal_says_how_many_sessions_it_leaves_out() -> None:
    """The log goes first, then sessions; the totals stay."""
    lines = plain(everything(), height=7)
    assert any("and 3 more" in line for line in lines)
    assert "sessions" in lines[-1]
    assert not any("in the queue" in line for line in lines)
    assert [line.split()[0] for line in plain(everything(), height=2)] == ["0/6"]


def test_names_and_problems_command_no_terminal() -> None:
    """Escapes in what comes from outside are shown, not obeyed; wide characters keep the columns."""
    odd, wide = sessions("\x1b[2Jx[red]", "日本語" * 9)
    board = Board([odd, wide], limits(Policy(), WINDOW))
    board.stepped(odd, ask(1, 800))
    board.stepped(wide, ask(1, 800))
    text = drawn(board.scene(0.0))
    assert "\x1b[2J" not in text
    lines = plain(board.scene(0.0))
    assert lines[1].startswith(r" \x1b[2Jx[red]")
    assert re.match(r" …(日本語){3} +█", lines[2])


def test_a_terminal_without_these_characters_gets_others() -> None:
    """ASCII draws the same bar."""
    lines = [row.plain for row in rows(everything(), 100, 40, ASCII)]
    assert re.search(r"#+:#+\.+\|\.", lines[3])
