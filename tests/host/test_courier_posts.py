"""Calls that are posted: off the turn's path, bounded, never raised; and the review list that they fill."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from ebbtide import Policy, Pool
from ebbtide.courier import QUEUE_SIZE, Courier
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import metrics
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.script import Call
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.host.talk import chat
from tests.store.clock import Database
from tests.worker.hostside import FakePermits

OWNER = Owner("acme", "chat")
IMPATIENT = SMALL.model_copy(update={"wait_budget": 0.0})


@pytest.fixture
def recorder() -> MemoryRecorder:
    """What the courier counts."""
    return MemoryRecorder()


@pytest.fixture
def courier(server: EmbeddedServer, database: Database, recorder: MemoryRecorder) -> Iterator[Courier]:
    """A courier on the embedded server."""
    courier = Courier(SyncStore(server.url, timeout=5.0), FakePermits(), recorder)
    yield courier
    courier.close(5.0)


def storing(name: str) -> Call[int]:
    """Return a call that stores a value under a name."""
    return blob_calls.put({OWNER.segment(name): b"x"}, ttl=60)


def test_a_posted_call_is_carried_out(courier: Courier, database: Database) -> None:
    """Once a flush has ended, it has been made."""
    assert courier.post(storing("a"))
    assert courier.flush(5.0)
    assert database.exists(OWNER.segment("a"))


def test_a_store_that_is_away_is_counted_and_logged(
    recorder: MemoryRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is raised, and the thread goes on."""
    courier = Courier(SyncStore("redis://127.0.0.1:1/0", timeout=0.2), FakePermits(), recorder)
    with caplog.at_level(logging.WARNING, "ebbtide.courier"):
        assert courier.post(storing("a"))
        assert courier.post(storing("b"))
        assert courier.flush(5.0)
    assert recorder.total(metrics.HOST_FAULTS, "store") == 2
    assert len(caplog.records) == 2
    courier.close(5.0)


def test_an_answer_that_can_not_be_read_ends_nothing(
    courier: Courier, database: Database, recorder: MemoryRecorder
) -> None:
    """Whatever a call's decoding raises."""

    def explode(_: object) -> int:
        raise ZeroDivisionError

    call = storing("a")
    assert courier.post(Call(call.script, call.keys, call.argv, explode))
    assert courier.post(storing("b"))
    assert courier.flush(5.0)
    assert recorder.total(metrics.HOST_FAULTS, "store") == 1
    assert database.exists(OWNER.segment("b"))


def test_a_closed_courier_takes_none(courier: Courier, recorder: MemoryRecorder) -> None:
    """It says so, and counts it."""
    courier.close(5.0)
    assert not courier.post(storing("a"))
    assert recorder.total(metrics.HOST_FAULTS, "courier") == 1
    assert courier.flush(0.0)


def test_too_many_are_turned_away(courier: Courier, database: Database, recorder: MemoryRecorder) -> None:
    """While one takes long, so many wait and no more."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(_: object) -> bool:
        begun.set()
        return go_on.wait(20.0)

    first = storing("first")
    assert courier.post(Call(first.script, first.keys, first.argv, slow))
    assert begun.wait(20.0)
    assert all(courier.post(storing(str(n))) for n in range(QUEUE_SIZE))
    assert not courier.post(storing("one too many"))
    go_on.set()
    assert courier.flush(20.0)
    assert recorder.total(metrics.HOST_FAULTS, "courier") == 1
    assert len(list(database.scan_iter(match=OWNER.pattern))) == QUEUE_SIZE + 1


def test_a_degraded_turn_is_listed_for_review(make_host: MakeHost, worker_store: SyncStore) -> None:
    """With its figures and no content; turns that are not degraded are not listed."""
    host = make_host(policy=IMPATIENT)
    host.prepare(chat(10))
    turn = host.prepare(chat(40))
    assert turn.report.degraded
    assert host.flush()
    (listed,) = worker_store.run(session_calls.review_list(OWNER))
    entry, report = listed.entry, turn.report
    assert report.rung is not None
    assert (entry.turn, entry.action, entry.reason) == (2, report.action.value, report.reason.value)
    assert (entry.rung, entry.window, entry.model) == (report.rung.value, 4_000, "gpt-test")
    assert (entry.projected, entry.sent) == (report.projected, report.sent)
    assert entry.omitted == sum(run.messages for run in report.omitted) > 0
    assert work_once(worker_store)
    assert host.prepare(chat(40)).swap is not None
    assert host.flush()
    assert len(worker_store.run(session_calls.review_list(OWNER))) == 1


def test_the_policy_bounds_the_list(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The newest degraded turns stay."""
    host = make_host(policy=IMPATIENT.model_copy(update={"review_kept": 2}))
    for _ in range(4):
        host.prepare(chat(40))
    assert host.flush()
    assert [each.entry.turn for each in worker_store.run(session_calls.review_list(OWNER))] == [4, 3]


def test_a_degraded_turn_without_a_store_is_taken_all_the_same() -> None:
    """The note is lost, the turn is not."""
    recorder = MemoryRecorder()
    with Pool("redis://127.0.0.1:1/0", policy=Policy(wait_budget=0.0), recorder=recorder) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
        assert session.prepare(chat(40)).report.degraded
        assert pool.flush(10.0)
    assert recorder.total(metrics.HOST_FAULTS, "store") >= 1
