"""What one turn of a host does, over the sync and the async API, against a real server."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest

from ebbtide import Action, Mode, Policy, Reason, UnfittableRequest, mark
from ebbtide_core.contract.job import Urgency
from ebbtide_core.metrics import CLAIMS, DEGRADED, HOST_FAULTS, SWAPS, TURNS, MemoryRecorder
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import WINDOW, MakeHost
from tests.host.publisher import manifest_of, messages_of, publish, record_of, take, work_once
from tests.host.talk import REQUEST, chat, said


def test_below_soft_a_turn_keeps_everything_and_costs_one_round_trip(make_host: MakeHost) -> None:
    """A small conversation is sent as it is, for one round trip to the store."""
    host, messages = make_host(), chat(3)
    host.prepare(messages)
    before = host.stats.commands
    turn = host.prepare(messages + said(3))
    assert host.stats.commands - before == 1
    assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.BELOW_SOFT)
    assert turn.messages == turn.buffer == messages + said(3)


def test_above_soft_a_job_is_enqueued_and_the_turn_does_not_wait(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Over the soft watermark the buffer is kept, and its older part is in the index with all that a worker
    needs."""
    host, messages = make_host(), chat(20)
    turn = host.prepare(messages, system="be brief")
    assert (turn.report.action, turn.report.reason) == (Action.ENQUEUE, Reason.OVER_SOFT)
    assert turn.messages == messages
    assert host.flush()
    job = take(worker_store)
    assert job is not None
    assert job.urgency is Urgency.LO
    manifest = manifest_of(worker_store, job)
    uploaded = messages_of(worker_store, job, manifest)
    assert [m["content"][0]["text"] for m in uploaded] == [m["content"] for m in messages[: len(uploaded)]]
    assert job.position.count == len(uploaded) > 10
    assert len(manifest.tokens) == len(uploaded)
    assert manifest.figures.projected == turn.report.projected


def test_while_a_job_is_under_way_no_second_one_is_asked_for(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """The next turns say that a job is pending and leave one job in the index."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    turn = host.prepare(messages + said(20))
    assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.JOB_PENDING)
    host.flush()
    assert worker_store.run(fleet_calls.depth()).ready == 1


def test_a_published_record_is_swapped_in_at_the_next_turn(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """The next turn's buffer is the summary message and the untouched tail; it costs one more round trip."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    assert work_once(worker_store) is not None
    before = host.stats.commands
    turn = host.prepare(messages)
    assert host.stats.commands - before == 2
    assert (turn.report.action, turn.report.reason) == (Action.SWAP, Reason.RECORD_READY)
    assert turn.swap is not None
    assert turn.swap.version == turn.report.version == 1
    assert turn.buffer[0] == turn.swap.summary_message
    tail = turn.buffer[1:]
    assert all(kept is given for kept, given in zip(tail, messages[-len(tail) :], strict=True))
    assert turn.report.sent < 0.9 * turn.report.projected
    assert "billing/app.py" in turn.buffer[0]["content"]


def test_a_kept_buffer_goes_on_from_its_summary(make_host: MakeHost, worker_store: SyncStore) -> None:
    """A host that keeps the buffer is compacted again and again, each version building on the last."""
    host, buffer = make_host(), chat(20)
    versions = []
    for i in range(20, 70):
        turn = host.prepare(buffer)
        host.flush()
        work_once(worker_store)
        if turn.swap:
            versions.append(turn.swap.version)
            assert turn.swap.record.base_version == len(versions) - 1
        buffer = turn.buffer + said(i)
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) >= 3


def test_a_raw_host_gets_the_same_view_each_turn(make_host: MakeHost, worker_store: SyncStore) -> None:
    """A host that passes its whole history each turn is sent the same summary and tail as one that keeps the
    buffer."""
    host, raw = make_host(), chat(20)
    host.prepare(raw)
    host.flush()
    work_once(worker_store)
    first = host.prepare(raw)
    grown = raw + said(20)
    again = host.prepare(grown)
    assert (again.report.action, again.report.reason) == (Action.SWAP, Reason.REAPPLIED)
    assert again.messages == first.buffer + said(20)
    other = make_host()
    assert other.prepare(first.buffer + said(20)).messages == again.messages


def test_nothing_that_was_passed_is_changed(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Neither keeping, enqueuing, swapping nor degrading touches the argument."""
    host = make_host()
    for messages in (chat(3), chat(20), chat(30), chat(60)):
        given = copy.deepcopy(messages)
        host.prepare(messages)
        host.flush()
        work_once(worker_store)
        host.prepare(messages)
        assert messages == given


def test_at_hard_a_turn_waits_for_a_record_that_comes_in_time(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A turn over the hard watermark gets the record that a worker publishes while it waits, asked for as
    urgent."""
    host, messages = make_host(policy=Policy(wait_budget=10.0, io_budget=10.0)), chat(27)
    urgencies: list[Urgency] = []

    def worker() -> None:
        while not urgencies:
            job = take(worker_store)
            if job is not None:
                urgencies.append(job.urgency)
                manifest = manifest_of(worker_store, job)
                publish(worker_store, job, record_of(job, manifest, messages_of(worker_store, job, manifest)))

    thread = threading.Thread(target=worker)
    thread.start()
    turn = host.prepare(messages)
    thread.join()
    assert turn.report.action is Action.SWAP
    assert 0 < turn.report.waited < 10
    assert turn.report.sent < turn.report.soft
    assert urgencies == [Urgency.HI]


def test_at_hard_without_a_record_the_view_is_smaller_and_the_job_goes_on(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """With the wait budget spent a smaller view is sent and declared; the buffer is whole, the job is in the
    index."""
    recorder = MemoryRecorder()
    host, messages = make_host(recorder=recorder), chat(27)
    turn = host.prepare(messages)
    report = turn.report
    assert (report.action, report.reason) == (Action.DEGRADE, Reason.NO_RECORD_IN_TIME)
    assert report.degraded
    assert turn.buffer == messages
    assert report.sent <= report.hard < report.projected
    assert sum(o.messages for o in report.omitted) == len(messages) - (len(turn.messages) - 1)
    assert recorder.total(DEGRADED, str(report.rung)) == 1
    host.flush()
    job = take(worker_store)
    assert job is not None
    assert job.urgency is Urgency.HI
    assert recorder.total(CLAIMS, "own") == 1


def test_a_queued_job_is_raised_when_its_session_comes_to_hard(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A job queued as lo becomes hi in place once the session is at hard."""
    host = make_host()
    host.prepare(chat(20))
    host.flush()
    host.prepare(chat(27))
    host.flush()
    job = take(worker_store)
    assert job is not None
    assert job.urgency is Urgency.HI


def test_a_degraded_session_swaps_as_soon_as_the_record_is_there(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """After a degraded turn the record applies to all that the view had left out."""
    host, messages = make_host(), chat(27)
    degraded = host.prepare(messages)
    host.flush()
    work_once(worker_store)
    turn = host.prepare(degraded.buffer + said(27))
    assert turn.report.action is Action.SWAP
    assert not turn.report.degraded


def test_off_only_measures(make_host: MakeHost, worker_store: SyncStore) -> None:
    """In mode off nothing is sent to the store, swapped or left out, even over hard."""
    host, messages = make_host(mode="off"), chat(27)
    turn = host.prepare(messages)
    host.flush()
    assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.MODE_OFF)
    assert turn.report.projected > turn.report.hard
    assert turn.messages == messages
    assert host.stats.commands == 0
    assert worker_store.run(fleet_calls.depth()).ready == 0


def test_shadow_makes_records_but_never_swaps_or_degrades(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """In mode shadow jobs run and are reported; what is sent is what came."""
    host, messages = make_host(mode=Mode.SHADOW), chat(27)
    first = host.prepare(messages)
    host.flush()
    assert work_once(worker_store) is not None
    second = host.prepare(messages)
    host.flush()
    assert [t.report.action for t in (first, second)] == [Action.KEEP, Action.KEEP]
    assert first.messages == second.messages == messages
    assert worker_store.run(fleet_calls.depth()).ready == 0


def test_a_request_that_fits_in_no_form_raises_with_everything_in_hand(make_host: MakeHost) -> None:
    """The error names the numbers and carries the turn, so that the host loses nothing."""
    host = make_host()
    messages = [*chat(2), {"role": "user", "content": "zebra " * WINDOW}]
    with pytest.raises(UnfittableRequest) as caught:
        host.prepare(messages)
    error = caught.value
    assert error.smallest > error.limit == WINDOW
    assert error.turn.buffer == messages
    assert error.turn.report.degraded


def test_marks_are_kept_in_the_buffer_and_stripped_from_what_is_sent(make_host: MakeHost) -> None:
    """The model never sees a mark; the buffer keeps it."""
    host = make_host()
    messages = [mark({"role": "user", "content": REQUEST}, pinned=True), *said(1)]
    turn = host.prepare(messages)
    assert turn.buffer == messages
    assert turn.messages == [{"role": "user", "content": REQUEST}, *said(1)]


def test_lone_surrogates_are_replaced_in_what_is_sent_only(make_host: MakeHost) -> None:
    """Text that no provider accepts is repaired in the view, listed, and kept as it is in the buffer."""
    host, messages = make_host(), [{"role": "user", "content": "broken \ud83d text"}]
    turn = host.prepare(messages)
    assert turn.buffer == messages
    assert turn.messages == [{"role": "user", "content": "broken \ufffd text"}]
    assert [issue.kind.value for issue in turn.report.issues] == ["lone_surrogate"]


def test_usage_calibrates_the_estimate(make_host: MakeHost) -> None:
    """When the provider reports more tokens than were counted, the next projection is larger, within
    limits."""
    host, messages = make_host(), chat(20)
    before = host.prepare(messages).report.projected
    for _ in range(20):
        host.observe({"prompt_tokens": before * 10, "completion_tokens": 5})
        after = host.prepare(messages).report.projected
    assert before * 1.5 < after <= before * 2


def test_an_observer_that_fails_changes_nothing(
    make_host: MakeHost, caplog: pytest.LogCaptureFixture
) -> None:
    """Observers get every report; an error of theirs is logged and goes no further."""
    seen: list[Any] = []

    def observer(report: Any, owner: Any) -> None:
        seen.append((report.action, owner.session_id))
        raise RuntimeError("observer down")

    host = make_host(on_report=observer)
    host.prepare(chat(2))
    assert seen == [(Action.KEEP, "chat")]
    assert "a report observer failed" in caplog.text


def test_metrics_tell_what_turns_did(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Each turn is counted by action and reason, each swap once."""
    recorder = MemoryRecorder()
    host, messages = make_host(recorder=recorder), chat(20)
    host.prepare(messages)
    host.flush()
    work_once(worker_store)
    host.prepare(messages)
    assert recorder.total(TURNS, "enqueue", "over_soft") == 1
    assert recorder.total(TURNS, "swap", "record_ready") == 1
    assert recorder.total(SWAPS) == 1
    assert recorder.total(HOST_FAULTS) == 0
