"""What is known of sessions while they run, and what a board says is going on with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.live.board import LOG, Board, Scene
from ebbtide_cli.live.event import ORDINARY, Event, Kind
from ebbtide_cli.live.lane import PAST_TURNS, SLOW_SECONDS, SWAP_TURNS, activity
from ebbtide_cli.live.level import Zone
from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.figures import Figures, stall_ms
from ebbtide_cli.replay.transcript import Fault, Problem, Transcript
from ebbtide_core.decide import Action, Reason
from ebbtide_core.policy import Policy, limits
from ebbtide_core.store.results import ClaimStage
from ebbtide_core.views.view import Rung
from tests.cli.steps import ask, seen, step, swap
from tests.cli.turns import talk, transcript

LIMITS = limits(Policy(), 1_000)
ONE = transcript(talk(40), id="one")


def board(*sessions: Transcript) -> Board:
    """A board of these sessions."""
    return Board(sessions or (ONE,), LIMITS)


def going_on(board: Board, now: float = 0.0) -> tuple[Kind, str]:
    """What is going on with the board's only session."""
    return activity(board.lane(ONE), now)


def told(events: Any) -> list[tuple[Kind, str]]:
    """Kinds and words of events."""
    return [(event.kind, event.text) for event in events]


def degraded(number: int, **more: Any) -> Step:
    """A turn that sends a smaller view."""
    given = {"degraded": True, "rung": Rung.TRUNCATED, "action": Action.DEGRADE, "sent": 600, **more}
    return step(number, 1_200, reason=Reason.NO_RECORD_IN_TIME, **given)


def test_a_compaction_is_followed_from_the_question_to_the_swap() -> None:
    """Asked for, queued, running, published, swapped in: each is told, the size falls with the swap only."""
    b = board()
    assert going_on(b) == (Kind.KEPT, "starting")
    b.stepped(ONE, step(1, 400))
    assert going_on(b) == (Kind.KEPT, "below soft")
    b.stepped(ONE, ask(2, 800))
    assert going_on(b) == (Kind.JOB, "job 1 asked for")
    assert told(b.looked(ONE, seen(1, stage=ClaimStage.QUEUED))) == [
        (Kind.JOB, "1 is in the queue; the host goes on")
    ]
    assert going_on(b) == (Kind.JOB, "job 1 queued")
    assert told(b.looked(ONE, seen(1, stage=ClaimStage.RUNNING))) == []
    b.stepped(ONE, step(3, 850))
    assert going_on(b) == (Kind.JOB, "job 1 running")
    assert told(b.looked(ONE, seen(1, 1))) == [
        (Kind.VERSION, "1 published: stands for the first 10 messages")
    ]
    assert going_on(b) == (Kind.VERSION, "version 1 published")
    assert b.lane(ONE).level.projected == 850
    events = b.stepped(ONE, swap(4, 900, 300, summary_tokens=50))
    assert told(events)[1] == (Kind.SWAP, "10 messages became summary 1, 50 tokens: 900 → 300")
    assert going_on(b) == (Kind.SWAP, "swap: version 1 in")
    assert (b.lane(ONE).level.projected, b.lane(ONE).version) == (300, 1)


def test_a_job_that_ended_without_a_version_is_told_no_more() -> None:
    """What is left is where the session stands."""
    b = board()
    b.stepped(ONE, ask(1, 800))
    b.looked(ONE, seen(1))
    assert going_on(b) == (Kind.KEPT, "over soft")


def test_a_swap_is_told_for_some_turns() -> None:
    """So that people see it; then the place of the size is told again."""
    b = board()
    b.stepped(ONE, swap(1, 900, 300))
    for number in range(2, SWAP_TURNS + 2):
        assert going_on(b)[0] is Kind.SWAP
        b.stepped(ONE, step(number, 400, version=1))
    assert going_on(b) == (Kind.KEPT, "below soft")


def test_a_version_that_no_look_found_is_told_before_its_swap() -> None:
    """Versions count even when they come between the last look and the turn."""
    b = board()
    events = b.stepped(ONE, swap(1, 900, 300, version=2))
    assert [kind for kind, _ in told(events)] == [Kind.VERSION, Kind.READY, Kind.SWAP]
    assert told(b.looked(ONE, seen(2, 2))) == told([*b.events][-2:])
    assert b.scene(0.0).totals.versions == 2


def test_a_degraded_session_stands_where_its_buffer_stands() -> None:
    """The view is smaller, the buffer is not: the size stays over hard, in red and in words."""
    b = board()
    (event,) = b.stepped(ONE, degraded(1))
    assert (event.kind, event.text) == (
        Kind.DEGRADED,
        "a view of 600 tokens is sent, truncated: no record in time",
    )
    assert going_on(b) == (Kind.DEGRADED, "degraded: truncated")
    level = b.lane(ONE).level
    assert (level.projected, level.sent, level.zone) == (1_200, 600, Zone.HARD)
    b.stepped(ONE, step(2, 1_300, unfittable=True, degraded=True))
    assert going_on(b) == (Kind.UNFITTABLE, "unfittable")
    assert b.scene(0.0).totals.degraded == 2


def test_a_turn_that_takes_long_is_told_to_wait() -> None:
    """From the outside only its length is seen; afterwards the report tells."""
    b = board()
    b.preparing(ONE, now=10.0)
    assert going_on(b, now=10.0 + SLOW_SECONDS / 2) == (Kind.KEPT, "starting")
    assert going_on(b, now=13.0) == (Kind.WAITED, "waiting 3 s")
    (event,) = b.stepped(ONE, step(1, 960, action=Action.WAIT, waited=3.0))
    assert (event.kind, event.text) == (Kind.WAITED, "at hard: waiting for a record, waited 3.0 s")
    assert going_on(b, now=20.0) == (Kind.WAITED, "waited for a record")


@pytest.mark.parametrize(("tokens", "expects"), [(699, False), (700, True), (1_500, True)])
def test_nothing_is_expected_of_a_session_below_soft(tokens: int, expects: bool) -> None:
    """So its state needs no look; a claim that is still there is followed wherever the size is."""
    b = board()
    assert not b.lane(ONE).expects
    b.stepped(ONE, step(1, tokens))
    assert b.lane(ONE).expects is expects
    b.looked(ONE, seen(stage=ClaimStage.RUNNING))
    assert b.lane(ONE).expects


def test_sessions_keep_their_places() -> None:
    """One that ends leaves its place to the next; the others do not move."""
    given = [transcript(talk(2), id=name) for name in "abcd"]
    b = board(*given)
    for session in given[:3]:
        b.lane(session)
    b.finished(given[1], Figures(turns=2))
    assert [lane and lane.session for lane in b.scene(0.0).lanes] == ["a", None, "c"]
    b.lane(given[3])
    assert [lane and lane.session for lane in b.scene(0.0).lanes] == ["a", "d", "c"]
    b.failed(given[0], Problem("f", 1, Fault.REFUSED, "message 0: no"))
    assert told(b.events) == [(Kind.PROBLEM, "refused by prepare: message 0: no")]
    assert (b.scene(0.0).totals.ended, b.scene(0.0).totals.all_sessions) == (2, 4)


def test_the_log_holds_the_last_events_that_say_something() -> None:
    """Turns at which nothing happened are left out of a scene, however many."""
    b = board()
    for number in range(1, 30):
        b.stepped(ONE, step(number) if number % 2 else ask(number, 800))
    events = b.scene(0.0).events
    assert [event.turn for event in events] == list(range(28, 28 - 2 * LOG, -2))[::-1]
    assert not {event.kind for event in events} & ORDINARY


def test_a_board_forgets_turns_long_ago() -> None:
    """However long a session is, what is shown of its past is bounded."""
    b = board()
    for number in range(1, 3 * PAST_TURNS):
        b.stepped(ONE, step(number, number))
    past = [level.projected for level in b.lane(ONE).past]
    assert past == list(range(2 * PAST_TURNS, 3 * PAST_TURNS))


def test_time_passes_from_the_beginning() -> None:
    """By the clock that is passed in."""
    assert Board((ONE,), LIMITS, began=100.0).scene(now=161.5).elapsed == 61.5


NAMES = ("a", "b", "c")
HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(["step", "ask", "swap", "degraded", "look", "end", "fail"]),
        st.integers(0, 2_000),
    ),
    max_size=60,
)


@given(HAPPENINGS)
def test_totals_are_the_sums_over_all_sessions(happenings: list[tuple[str, str, int]]) -> None:
    """Whatever happens in whatever order, running and ended sessions together make the totals."""
    sessions = {name: transcript(talk(60), id=name) for name in NAMES}
    b, ended, told, stalls = board(*sessions.values()), set[str](), list[Event](), list[float]()
    jobs, versions, turns = (dict.fromkeys(NAMES, 0) for _ in range(3))
    for name, what, size in happenings:
        session = sessions[name]
        if name in ended:
            continue
        if what == "look":
            jobs[name], versions[name] = jobs[name] + size % 3, versions[name] + size % 2
            told += b.looked(session, seen(jobs[name], versions[name]))
        elif what == "end":
            b.finished(session, Figures(jobs_enqueued=jobs[name], versions_published=versions[name]))
        elif what == "fail":
            b.failed(session, Problem("f", 0, Fault.CRASHED, "x"))
        else:
            turns[name] += 1
            stalls.append(size / 1e6)
            told += b.stepped(session, made(what, turns[name], size, versions[name]))
        ended |= {name} if what in ("end", "fail") else set()
    check_totals(b.scene(0.0), told, len(ended), stalls)


def made(what: str, number: int, size: int, version: int) -> Step:
    """A turn of a kind; one can only swap a version that is there."""
    if what == "swap" and version:
        one = swap(number, size, size // 2, version)
    elif what == "degraded":
        one = degraded(number)
    else:
        one = ask(number, size) if what == "ask" else step(number, size)
    return replace(one, stall=size / 1e6)


def check_totals(scene: Scene, told: list[Event], ended: int, stalls: list[float]) -> None:
    """Each total equals what was told, event by event."""
    kinds = [event.kind for event in told]
    t = scene.totals
    assert (t.jobs, t.versions, t.swaps) == tuple(map(kinds.count, (Kind.JOB, Kind.VERSION, Kind.SWAP)))
    assert t.degraded == kinds.count(Kind.DEGRADED)
    assert (t.ended, t.turns, t.stall_p99) == (ended, len(stalls), stall_ms(stalls)["p99"])
    assert sum(lane is not None for lane in scene.lanes) <= t.all_sessions - ended
