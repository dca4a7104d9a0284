"""The bar of a session: what is filled, and where the watermarks stand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.live.bar import ASCII, BLOCKS, Cell, Fill, Mark, bar, cells, scale, tide
from ebbtide_cli.live.level import Level, Zone
from ebbtide_core.policy import Policy, limits

WIDTHS = st.integers(2, 120)


@st.composite
def levels(draw: st.DrawFn) -> Level:
    """Any request in any window: also far over it, and with watermarks side by side."""
    window = draw(st.integers(1_000, 2_000_000))
    soft = draw(st.integers(1, window - 1))
    hard = draw(st.integers(soft + 1, window))
    came = draw(st.integers(0, 3 * window))
    sent = draw(st.integers(0, came))
    return Level(draw(st.sampled_from([came, sent])), came, sent, window, soft, hard)


def where(bar: list[Cell], mark: Mark) -> list[int]:
    """The cells in which a mark stands."""
    return [n for n, cell in enumerate(bar) if cell.mark is mark]


@given(levels(), WIDTHS)
def test_a_bar_is_as_wide_as_it_may_be(level: Level, width: int) -> None:
    """However large the request is, what is sent comes first, then what was taken off, then what is free."""
    bar = cells(level, width)
    assert len(bar) == width
    order = [Fill.FULL, Fill.SHED, Fill.EMPTY]
    assert [cell.fill for cell in bar] == sorted((cell.fill for cell in bar), key=order.index)


@given(levels(), WIDTHS)
def test_both_marks_stand_on_every_bar_soft_before_hard(level: Level, width: int) -> None:
    """Each stands once, at its share of the window, or one cell aside where both would share a cell."""
    bar = cells(level, width)
    ((soft,), (hard,)) = where(bar, Mark.SOFT), where(bar, Mark.HARD)
    assert soft < hard
    assert abs(hard - level.hard * width / level.window) <= 1
    assert soft == level.soft * width // level.window or soft == hard - 1


@given(levels(), WIDTHS)
def test_the_fill_reaches_a_mark_if_and_only_if_the_request_does(level: Level, width: int) -> None:
    """Rounding to cells never shows a request on the wrong side of a watermark."""
    bar = cells(level, width)
    ((soft,), (hard,)) = where(bar, Mark.SOFT), where(bar, Mark.HARD)
    assert (bar[hard].fill is Fill.FULL) == (level.sent >= level.hard)
    assert (bar[hard].fill is not Fill.EMPTY) == (level.came >= level.hard)
    assert (bar[soft].fill is Fill.FULL) == (level.sent >= level.soft)
    assert (bar[soft].fill is not Fill.EMPTY) == (level.came >= level.soft)


@given(levels(), WIDTHS)
def test_marks_are_seen_on_what_is_filled(level: Level, width: int) -> None:
    """Without colour too, each is a character of its own."""
    for glyphs in (BLOCKS, ASCII):
        text = bar(level, width, glyphs, "green").plain
        assert (len(text), text.count(glyphs.soft), text.count(glyphs.hard)) == (width, 1, 1)


@given(levels(), WIDTHS)
def test_the_scale_has_its_marks_above_those_of_the_bars(level: Level, width: int) -> None:
    """Names are left out where there is no room for them, marks stay."""
    drawn = cells(level, width)
    told = scale(level, width, BLOCKS).plain
    assert len(told) <= width
    assert [n for n, c in enumerate(told) if c == BLOCKS.hard] == where(drawn, Mark.HARD)
    assert [n for n, c in enumerate(told) if c == BLOCKS.soft] == where(drawn, Mark.SOFT)


@given(st.lists(levels(), max_size=130), st.integers(1, 120), st.integers(1, 5))
def test_the_tide_has_a_column_for_each_of_the_last_turns(past: list[Level], width: int, height: int) -> None:
    """Each rises from the ground without a gap to its share of the window, the whole height at most."""
    lines = [line.plain for line in tide(past, width, height)]
    shown = past[-width:]
    assert [len(line) for line in lines] == [len(shown)] * height
    for level, column in zip(shown, zip(*lines, strict=True), strict=True):
        eighths = sum(" ▁▂▃▄▅▆▇█".index(cell) for cell in column)
        assert eighths == max(1, math.ceil(min(1.0, level.share) * height * 8))
        assert "".join(column).lstrip()[1:].strip("█") == ""


def test_the_scale_tells_the_shares() -> None:
    """Where there is room."""
    level = Level.empty(limits(Policy(), 100_000))
    assert scale(level, 40, BLOCKS).plain == f"{'soft 70% ':>28}┊hard 95% ┃"
    assert scale(level, 20, BLOCKS).plain == f"{'soft 70% ':>14}┊hard┃"
    assert scale(level, 4, BLOCKS).plain == "  ┊┃"


@pytest.mark.parametrize(
    ("tokens", "zone"),
    [(699, Zone.BELOW), (700, Zone.SOFT), (949, Zone.SOFT), (950, Zone.HARD), (9_999, Zone.HARD)],
)
def test_a_zone_begins_at_its_watermark(tokens: int, zone: Zone) -> None:
    """At the mark counts as over it, as in the decisions of a host."""
    assert Level(tokens, tokens, tokens, 1_000, 700, 950).zone is zone
