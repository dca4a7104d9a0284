"""How sessions are followed while they run: when their state is looked at, and when a frame is drawn."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from rich.console import Console

from ebbtide import Policy
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.live.board import Board
from ebbtide_cli.live.event import Kind
from ebbtide_cli.live.follower import Follower
from ebbtide_cli.live.lane import Seen
from ebbtide_cli.live.lookout import BLIND_SECONDS, Lookout
from ebbtide_cli.live.view import FRAME_SECONDS, LiveView, is_live
from ebbtide_cli.replay.ending import Watcher
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.transcript import Fault, Problem
from ebbtide_core.decide import Action
from ebbtide_core.names import Owner
from ebbtide_core.policy import limits
from ebbtide_core.store import session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from tests.cli.steps import ask, seen, step, swap
from tests.cli.terminal import HIDE, SHOW
from tests.cli.turns import talk, transcript
from tests.store.clock import Database

ONE, TWO = transcript(talk(40), id="one"), transcript(talk(40), id="two")


class Clock:
    """A clock that stands still unless it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class State:
    """What a look finds; it counts the looks."""

    def __init__(self) -> None:
        self.found: Seen | None = seen()
        self.looks = 0

    def __call__(self, session: str) -> Seen | None:
        self.looks += 1
        return self.found


@pytest.fixture
def state() -> State:
    """The state of the session."""
    return State()


@pytest.fixture
def clock() -> Clock:
    """The time."""
    return Clock()


@pytest.fixture
def follower(state: State, clock: Clock) -> Follower:
    """A follower of two sessions."""
    return Follower(Board((ONE, TWO), limits(Policy(), 1_000)), state, clock)


def test_a_session_below_soft_is_not_looked_at(follower: Follower, state: State) -> None:
    """Nothing can happen to it, so following it costs the store nothing."""
    for number in range(1, 10):
        follower.resting(ONE)
        follower.before_turn(ONE)
        follower.stepped(ONE, step(number, 699))
    assert state.looks == 0


def test_a_session_over_soft_is_looked_at_between_its_turns_only(follower: Follower, state: State) -> None:
    """Twice a pause, never while a turn is told; after the swap, once a turn is below soft, no more."""
    follower.stepped(ONE, ask(1, 800))
    assert state.looks == 0
    state.found = seen(1, 1)
    assert [event.kind for event in follower.resting(ONE)] == [Kind.JOB, Kind.VERSION]
    assert list(follower.before_turn(ONE)) == []
    assert state.looks == 2
    follower.stepped(ONE, swap(2, 850, 300))
    follower.before_turn(ONE)
    follower.stepped(ONE, step(3, 400))
    follower.before_turn(ONE)
    assert state.looks == 3


def test_what_happened_while_a_turn_waited_is_told_before_it(follower: Follower, state: State) -> None:
    """The job and its version came before the turn could go on."""
    state.found = seen(1, 1)
    waited = swap(1, 960, 300)
    events = follower.stepped(ONE, step(1, 960, action=Action.WAIT, waited=0.5))
    assert [event.kind for event in events] == [Kind.JOB, Kind.VERSION, Kind.WAITED]
    assert [event.kind for event in follower.stepped(ONE, waited)] == [Kind.READY, Kind.SWAP]
    assert len(follower.history()) == 5


def test_a_state_that_can_not_be_read_changes_nothing(follower: Follower, state: State) -> None:
    """The board keeps what it knows."""
    follower.stepped(ONE, ask(1, 800))
    state.found = None
    assert list(follower.before_turn(ONE)) == []
    assert follower.scene().totals.jobs == 0


@pytest.fixture
def store(server: EmbeddedServer, database: Database) -> Iterator[SyncStore]:
    """The store at the server's own time, empty."""
    store = SyncStore(server.url, timeout=5.0)
    yield store
    store.close()


def test_a_look_reads_the_state_in_two_round_trips(store: SyncStore) -> None:
    """Jobs from the tally, records and claim from the state."""
    owner = Owner.of("acme", "one")
    store.run(session_calls.reset(owner, fresh_incarnation="i", state_ttl=60))
    store.run(tally_calls.tally_add(owner, tally_calls.ENQUEUED, ttl=60))
    lookout = Lookout(Watcher(store, Policy(), threading.Event()), "acme")
    lookout.look("one")
    before = store.stats.commands
    assert lookout.look("one") == Seen(jobs=1, headers=(), newest=0, stage=None)
    assert store.stats.commands - before == 2


def test_a_store_that_does_not_answer_is_left_alone_for_a_while(clock: Clock) -> None:
    """So that a session of the replay does not wait for it before each turn."""
    store = SyncStore("redis://127.0.0.1:1/0")
    lookout = Lookout(Watcher(store, Policy(), threading.Event()), "acme", clock)
    calls = []
    for clock.now in (0.0, BLIND_SECONDS - 0.1, BLIND_SECONDS):
        assert lookout.look("one") is None
        calls.append(store.stats.calls)
    store.close()
    assert calls == [1, 1, 2]


def opened(follower: Follower, clock: Clock) -> tuple[LiveView, io.StringIO]:
    """A live view, and what it writes."""
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, height=30, color_system=None)
    return LiveView(console, follower, clock), stream


def test_frames_are_drawn_with_the_turns_but_not_too_often(follower: Follower, clock: Clock) -> None:
    """However fast turns follow each other, a frame is drawn once in a while only."""
    view, stream = opened(follower, clock)
    with view:
        for number in range(1, 30):
            view.stepped(ONE, step(number))
        assert stream.getvalue().count("session ") == 1
        clock.now += FRAME_SECONDS
        view.resting(ONE)
        assert stream.getvalue().count("session ") == 2
        assert "29/40" in stream.getvalue()


def test_the_cursor_is_hidden_while_the_view_is_open(follower: Follower, clock: Clock) -> None:
    """And shown after it, whatever ends it."""
    view, stream = opened(follower, clock)
    with suppress(KeyboardInterrupt), view:
        assert stream.getvalue().count(HIDE) == 1
        raise KeyboardInterrupt
    assert stream.getvalue().rfind(SHOW) > stream.getvalue().rfind(HIDE)


def test_problems_and_degraded_sessions_leave_a_line(follower: Follower, clock: Clock) -> None:
    """Sessions that end well leave nothing but their share of the totals."""
    view, stream = opened(follower, clock)
    with view:
        view.stepped(ONE, step(1))
        view.finished(ONE, Figures(turns=9, degraded_turns=2, unfittable_turns=1))
        view.failed(TWO, Problem("f\x1b.jsonl", 3, Fault.REFUSED, "message 0: no"))
    assert "degraded  one: 2 of 9 turns, 1 unfittable" in stream.getvalue()
    assert r"refused by prepare  f\x1b.jsonl, line 3: message 0: no" in stream.getvalue()
    assert follower.scene().totals.ended == 2
    view, stream = opened(follower, clock)
    with view:
        view.finished(transcript(talk(1), id="three"), Figures(turns=9))
    assert "three" not in stream.getvalue()


def test_only_a_terminal_is_live() -> None:
    """Colours that are forced into a file make it none."""
    assert not is_live(Console(file=io.StringIO(), force_terminal=True, force_interactive=True))
