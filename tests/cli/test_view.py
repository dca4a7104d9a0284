"""What a replay shows."""

from __future__ import annotations

import io
import re
from collections import Counter

import pytest
from rich.console import Console

from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.run import Result
from ebbtide_cli.replay.transcript import Fault, Problem
from ebbtide_cli.replay.view import PlainView, problem_line, safe, show_result
from tests.cli.turns import talk, transcript


def shown(result: Result, width: int = 100) -> str:
    """Return what the tables of a result look like."""
    stream = io.StringIO()
    show_result(Console(file=stream, width=width), result)
    return stream.getvalue()


def sessions(number: int) -> Result:
    """A result of so many sessions, in two files."""
    return Result(
        tuple(
            (
                transcript(talk(1), id=f"session-{n}", file=f"/data/file-{n % 2}.jsonl"),
                Figures(turns=n, swaps=1, rejected=Counter(timeout=1)),
            )
            for n in range(number)
        ),
        (),
    )


def test_few_sessions_have_a_row_each_and_many_are_summed_by_file() -> None:
    """The totals are the same sums either way."""
    few, many = shown(sessions(4)), shown(sessions(40))
    assert re.search(r"session-3 +3 ", few)
    assert "6 in 4 sessions" in few
    assert "session-3" not in many
    assert re.search(r"file-1\.jsonl +400 ", many)
    assert "780 in 40 sessions" in many
    assert "rejected: 40 timeout" in many


@pytest.mark.parametrize("width", [80, 100, 200])
def test_figures_are_never_cut(width: int) -> None:
    """On a narrow terminal names are shortened, numbers are not."""
    name = "a-very-long-session-name/" * 8
    peak = Figures(turns=123_456, peak_projected_tokens=1_234_567)
    told = shown(Result(((transcript(talk(1), id=name), peak),), ()), width)
    assert "123,456" in told
    assert "1,234,567" in told
    assert all(len(line) <= width for line in told.splitlines())


def test_what_is_wrong_stands_out() -> None:
    """Faults of the pool are told with how often they occurred."""
    told = shown(Result(sessions(1).sessions, (), Counter({"store: no answer": 7})))
    assert "7 times: store: no answer" in told


def test_text_from_outside_commands_no_terminal() -> None:
    """Escapes and markup in names and details are shown, not obeyed."""
    told = problem_line(Problem("\x1b[2Jx[red].jsonl", 3, Fault.NOT_JSON, "a\nb\ud800", count=2))
    assert "\x1b" not in told
    assert "\n" not in told
    assert r"\[red]" in told
    assert "line 3" in told
    assert safe("naïve 日本") == "naïve 日本"


def test_plain_lines_number_the_sessions() -> None:
    """Each session that ends has a line, failed ones too."""
    stream = io.StringIO()
    given = [transcript(talk(1), id="a"), transcript(talk(1), id="b"), transcript(talk(1), id="c")]
    with PlainView(Console(file=stream, width=80), given) as view:
        view.finished(given[0], Figures(turns=1))
        view.failed(given[1], Problem("f", 1, Fault.REFUSED, "message 0: no"))
        view.finished(given[2], Figures(turns=2))
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("1/3  a  1 turns")
    assert lines[1].startswith("refused by prepare  f, line 1")
    assert lines[2].startswith("3/3  c  2 turns")
