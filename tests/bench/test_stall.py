"""The benchmark of the stall runs, and what it counts is what it says it counts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from bench.stall import run
from bench.stall.cadence import LONGEST_LOOK, USUAL, Pace, Span, fitted, reading, spans
from bench.stall.compactions import Outcome, compactions, ready
from bench.stall.hosts import Moment
from bench.stall.plays import DATA, WINDOW, invented, real, wide
from bench.stall.stage import Times
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.jsonio import compact
from ebbtide_core.policy import Policy, limits

NOON = datetime.fromisoformat("2026-01-02T12:00:00Z").timestamp()
SOFT, HARD = 70, 95


def turn(at: float, projected: int, **more: Any) -> Moment:
    """Return a turn at which nothing happened, but for what is given."""
    quiet = Moment(
        at=at,
        projected=projected,
        soft=SOFT,
        hard=HARD,
        asked=False,
        compacted=False,
        held=0.0,
        busy=0.0,
        whole=True,
    )
    return replace(quiet, **more)


@pytest.mark.processes
def test_all_ways_are_played_side_by_side() -> None:
    """Each way has its row, with turns and with compactions, and each goal is judged."""
    result = run(quick=True)
    assert all(len(row) == len(result.columns) for row in result.rows)
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    ways = [str(row["sessions, way"]) for row in rows]
    assert [sum(way.endswith(name) for way in ways) for name in ("95 %", "70 %", "Ebbtide")] == [2, 2, 4]
    assert all(isinstance(row["turns"], int) and row["turns"] > 0 for row in rows)
    due = {way: row["due"] for way, row in zip(ways, rows, strict=True)}
    assert due["32k: inline 70 %"]
    assert due["32k: Ebbtide"]
    assert [goal.what.split(", ")[1] for goal in result.goals] == ["200k-like", "32k"]
    assert any("phases of jobs" in note and "queue" in note for note in result.notes)


def test_a_record_that_is_there_when_hard_is_reached_is_in_time() -> None:
    """Asked at soft, swapped below hard or at it without waiting."""
    early = [turn(0, 60), turn(1, 72, asked=True), turn(4, 80, compacted=True), turn(5, 30)]
    at_hard = [turn(1, 72, asked=True), turn(9, 99, compacted=True)]
    (one,), (other,) = compactions(early), compactions(at_hard)
    assert (one.outcome, one.jumped, one.room, one.held) == (Outcome.IN_TIME, False, 3, 0)
    assert (other.outcome, other.jumped, other.room) == (Outcome.IN_TIME, False, 8)


def test_a_turn_at_hard_that_waits_or_goes_without_makes_its_compaction_late() -> None:
    """What all its turns waited is added up, until the summary is in the buffer."""
    moments = [
        turn(0, 72, asked=True),
        turn(2, 96, asked=True, held=3.0, whole=False),
        turn(9, 97, compacted=True, held=1.0),
        turn(12, 40),
    ]
    (late,) = compactions(moments)
    assert (late.outcome, late.jumped, late.room, late.held) == (Outcome.LATE, False, 2, 4.0)


def test_a_jump_from_below_soft_above_hard_is_told_apart() -> None:
    """Whether its record comes while the turn waits, or later."""
    for moments in (
        [turn(0, 60), turn(1, 99, compacted=True, held=2.0)],
        [turn(0, 60), turn(1, 99, asked=True, held=2.0), turn(2, 99, compacted=True)],
    ):
        (jumped,) = compactions(moments)
        assert (jumped.outcome, jumped.jumped, jumped.room) == (Outcome.LATE, True, 0)


def test_a_turn_that_adds_more_than_lies_between_the_watermarks_is_told() -> None:
    """As long as it is what made the compaction late."""
    (leapt,) = compactions([turn(0, 71, asked=True), turn(1, 99, asked=True), turn(2, 125, compacted=True)])
    (crept,) = compactions([turn(0, 71, asked=True), turn(1, 95, asked=True), turn(2, 125, compacted=True)])
    (ready,) = compactions([turn(0, 71, asked=True), turn(1, 99, compacted=True)])
    assert (leapt.leapt, crept.leapt, ready.leapt) == (True, False, False)


def test_the_ratio_counts_neither_open_compactions_nor_on_request_jumps() -> None:
    """In time 1; late 2, one of them with room for a call; jumped 1; open 1."""
    found = [
        *compactions([turn(0, 72, asked=True), turn(4, 80, compacted=True)]),
        *compactions([turn(0, 72, asked=True), turn(4, 96, asked=True)]),
        *compactions([turn(0, 72, asked=True), turn(9, 96, asked=True)]),
        *compactions([turn(0, 99, asked=True)]),
        *compactions([turn(0, 72, asked=True), turn(2, 74, asked=True)]),
    ]
    without, every = ready(found, 5, jumped=False), ready(found, 5, jumped=True)
    assert (without.in_time, without.asked, without.possible) == (1, 3, 2)
    assert (every.in_time, every.asked) == (1, 4)
    assert (without.reaches(1 / 3), without.reaches(0.34)) == (True, False)
    assert not ready([], 5, jumped=True).reaches(0)


@given(
    st.floats(0.5, 20),
    st.floats(0.001, 0.1),
    st.lists(st.tuples(st.integers(1, 100), st.integers(1, 1_000)), min_size=2, unique_by=lambda s: s[1]),
)
def test_the_law_of_a_cadence_is_found_again(
    per_turn: float, per_token: float, given_spans: list[tuple[int, int]]
) -> None:
    """Spans that follow a law give that law, and no stretch is faster or slower."""
    pace = fitted([Span(n * (per_turn + each * per_token), n, n * each) for n, each in given_spans])
    assert math.isclose(pace.per_turn, per_turn, rel_tol=1e-3, abs_tol=1e-3)
    assert math.isclose(pace.per_token, per_token, rel_tol=1e-3, abs_tol=1e-5)
    assert all(math.isclose(factor, 1, rel_tol=1e-3) for factor, _ in pace.stretches)


def test_gaps_are_those_of_the_law_and_the_same_for_a_seed() -> None:
    """Slow stretches last as long as they were measured."""
    pace = Pace(2.0, 0.01, ((1.0, 2), (3.0, 2)))
    gaps = pace.gaps([100] * 40, "seed")
    assert gaps == pace.gaps([100] * 40, "seed")
    assert gaps != pace.gaps([100] * 40, "another")
    assert set(gaps) == {3.0, 9.0}
    assert all(first == second for first, second in zip(gaps[::2], gaps[1::2], strict=True))


def test_the_clock_is_read_off_what_programs_print() -> None:
    """The latest time within an hour counts; of a wall clock whose zone is unknown, minutes and seconds."""
    assert reading("2026-01-02T12:03:00Z and 2026-01-02T07:05:00.5-05:00", NOON) == NOON + 300.5
    assert reading("Start at  03:00:20\n Duration 1.2s", NOON) == NOON + 20
    assert reading("Start at  03:00:20", NOON + 30) == NOON + 20 + LONGEST_LOOK
    assert reading("2026-01-02T11:59:00Z 2026-01-02T14:00:00Z 2026-99-99T14:00:00Z 12:01:00", NOON) is None


def test_spans_lie_between_readings_and_leave_pauses_out() -> None:
    """Ten seconds for two turns count; the better part of an hour is a pause; then it goes on after it."""
    times = ("", "12:00:10", "12:50:00", "12:50:05")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go, 2026-01-02T12:00:01Z"}]
    for shown in times:
        stamp = f"2026-01-02T{shown}Z" if shown else "nothing"
        messages += [{"role": "assistant", "content": "x"}, {"role": "user", "content": stamp}]
    record = {"meta": {"first_ts": "2026-01-02T12:00:00Z"}, "messages": messages}
    written = {1: 5, 3: 7, 5: 100, 7: 11}
    assert spans(record, written) == [Span(10, 2, 12), Span(5, 1, 11)]
    assert spans({"meta": {}, "messages": messages}, written) == []


def test_sessions_that_grow_as_in_a_large_window_begin_below_soft_and_break_no_rule() -> None:
    """So that each has its turns between soft and hard still before it."""
    policy = Policy(max_tokens=655)
    for play in wide(invented(policy, 2, 20), policy, 3, 20):
        assert len(play.gaps) == len(play.requests) == 20
        sized = tokenizer().count(compact(play.messages[: play.start])) + limits(policy, WINDOW).max_tokens
        assert 0.5 * WINDOW < sized < 0.7 * WINDOW
        assert by_name(play.dialect).violations(list(play.messages)) == []


def test_a_session_cut_short_or_played_faster_is_otherwise_the_same() -> None:
    """It ends before the request that is one too many."""
    whole = invented(Policy(), 1, 10).plays[0]
    short = whole.first(4)
    assert (len(short.requests), short.gaps) == (4, whole.gaps[:4])
    assert whole.messages[len(short.messages)]["role"] == "assistant"
    assert whole.first(99) == whole
    assert json.dumps(whole.faster(2).messages) == json.dumps(whole.messages)
    assert whole.faster(2).gaps == tuple(gap / 2 for gap in whole.gaps)


def test_ebbtides_times_are_scaled_as_all_others() -> None:
    """The worker's and the host's alike; leases, which nothing here makes run out, stay."""
    policy, usual = Times(20).policy(), Policy()
    config = Times(20).config("redis://localhost", "http://localhost")
    assert policy.wait_budget == usual.wait_budget / 20
    assert config.renew_every == 10 / 20
    assert config.running_lease == policy.running_lease == usual.running_lease
    assert config.job_deadline == policy.job_deadline == usual.job_deadline / 20


@pytest.mark.data
@pytest.mark.skipif(not DATA.exists(), reason="no real transcripts beside the checkout (../shared/data)")
def test_the_real_sessions_tell_their_cadence() -> None:
    """It is read from hundreds of turns, and what stands for it where they are absent is near."""
    found = real(Policy(), 60)
    assert found is not None
    assert sum(span.turns for span in found.measured) > 300
    assert math.isclose(found.pace.per_turn, USUAL.per_turn, rel_tol=0.3)
    assert math.isclose(found.pace.per_token, USUAL.per_token, rel_tol=0.3)
    assert all(len(play.requests) == len(play.gaps) for play in found.plays)
