"""What faults of store, broker and host do to a turn: nothing raises, nothing is lost, everything is told."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ebbtide import Action, InputError, LimitError, Policy, Pool, Reason, StoreUnavailable
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.breaker import Outcome
from ebbtide_core.metrics import HOST_FAULTS, MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import PublishStatus, SessionView
from ebbtide_core.store.script import Call
from tests.host.conftest import MakeHost
from tests.host.publisher import manifest_of, messages_of, publish, record_of, settle, take, work_once
from tests.host.talk import REQUEST, chat, said
from tests.waiting import wait_until

NOTHING_LISTENS = "redis://127.0.0.1:1/0"
OWNER = Owner("acme", "chat")


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def state(store: SyncStore, seq: int = 1) -> SessionView:
    """Look at the session's state as one more host."""
    return store.run(
        session_calls.turn(
            OWNER, host="looker", seq=seq, fresh_incarnation="x", model="m", state_ttl=600, breaker_cooldown=5
        )
    )


def fail_jobs(host: Any, store: SyncStore, messages: list[Any], times: int) -> None:
    """Let the next jobs of the session fail."""
    for _ in range(times):
        host.prepare(messages)
        host.flush()
        job = take(store)
        assert job is not None
        assert settle(store, job, Outcome.FAILURE)


def test_a_store_that_is_gone_never_raises_and_is_left_alone_for_a_while(make_host: MakeHost) -> None:
    """Without a store the host keeps below hard, and after a fault doesn't ask again at once."""
    recorder = MemoryRecorder()
    host = make_host(state=NOTHING_LISTENS, recorder=recorder)
    first = host.prepare(chat(20))
    assert (first.report.action, first.report.reason) == (Action.KEEP, Reason.STORE_UNAVAILABLE)
    assert first.report.faults[0].startswith("store: ")
    asked = host.stats.commands
    second = host.prepare(chat(21))
    assert host.stats.commands == asked
    assert second.report.reason is Reason.STORE_UNAVAILABLE
    assert recorder.total(HOST_FAULTS, "store") == 1


def test_without_a_store_a_turn_at_hard_degrades(make_host: MakeHost) -> None:
    """At hard the view is made smaller at once: no record can come."""
    turn = make_host(state=NOTHING_LISTENS).prepare(chat(27))
    assert (turn.report.action, turn.report.reason) == (Action.DEGRADE, Reason.STORE_UNAVAILABLE)
    assert turn.report.sent <= turn.report.hard
    assert turn.buffer == chat(27)


def test_a_silent_store_takes_no_more_than_the_io_budget(make_host: MakeHost, silent: str) -> None:
    """Law 10: all store I/O of one prepare fits the budget, also when the server takes connections and is
    silent."""
    policy = Policy(io_budget=0.25, wait_budget=5.0)
    host = make_host(state=silent, policy=policy)
    began = time.monotonic()
    turn = host.prepare(chat(27))
    took = time.monotonic() - began
    assert turn.report.reason is Reason.STORE_UNAVAILABLE
    assert host.stats.commands == 1
    assert took < 10 * policy.io_budget, "a bound against hanging, not a measurement"


def test_the_store_is_used_again_once_it_answers(make_host: MakeHost, worker_store: SyncStore) -> None:
    """After the pause the host asks again and enqueues."""
    with EmbeddedServer(tcp=True) as server:
        host = make_host(broker=server.url, state=server.url)
        host.prepare(chat(20))
        server.kill()
        assert host.prepare(chat(20)).report.reason is Reason.STORE_UNAVAILABLE
        server.start()

        def enqueued() -> bool:
            return host.prepare(chat(20)).report.action in (Action.ENQUEUE, Action.KEEP) and (
                host.prepare(chat(20)).report.reason is not Reason.STORE_UNAVAILABLE
            )

        wait_until(enqueued, timeout=10, description="the store is asked again")
        host.flush()
        other = SyncStore(server.url, timeout=5.0)
        assert other.run(fleet_calls.depth()).ready == 1
        other.close()


def test_a_broker_that_is_gone_is_reported_and_the_job_waits_in_the_index(
    make_host: MakeHost, worker_store: SyncStore, server: EmbeddedServer
) -> None:
    """A lost permit is told at the next turn; the job is in the index, where the maintenance tick finds
    it."""
    host = make_host(broker=NOTHING_LISTENS, state=server.url)
    first = host.prepare(chat(20))
    host.flush()
    second = host.prepare(chat(20))
    told = [*first.report.faults, *second.report.faults]
    assert [fault.split(":")[0] for fault in told] == ["broker"]
    assert worker_store.run(fleet_calls.depth()).ready == 1


@pytest.mark.parametrize("script", ["missing", "put", "enqueue", "queued"])
def test_a_claim_that_never_became_a_job_is_given_back_and_made_anew(
    make_host: MakeHost, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """A store that goes away between claim and enqueue costs the session one turn, not the claim's whole
    lease."""
    real, left = SyncStore.run, [script]

    def run(store: SyncStore, call: Call[Any]) -> Any:
        if call.script in left:
            left.remove(call.script)
            raise StoreUnavailable("gone for a moment")
        return real(store, call)

    monkeypatch.setattr(SyncStore, "run", run)
    host, messages = make_host(), chat(20)
    first = host.prepare(messages)
    host.flush()
    second = host.prepare(messages)
    host.flush()
    assert [fault.split(":")[0] for fault in (*first.report.faults, *second.report.faults)] == ["store"]
    assert second.report.action is Action.ENQUEUE
    job = take(worker_store)
    assert job is not None
    assert job.epoch == 2
    assert take(worker_store) is None


def test_three_failures_open_the_breaker_and_the_buffer_is_kept_until_hard(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """With the breaker open nothing is asked for; between the watermarks the buffer is kept, at hard it
    degrades."""
    host = make_host()
    fail_jobs(host, worker_store, chat(20), 3)
    turn = host.prepare(chat(20))
    assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.BREAKER_OPEN)
    turn = host.prepare(chat(27))
    assert (turn.report.action, turn.report.reason) == (Action.DEGRADE, Reason.BREAKER_OPEN)
    host.flush()
    assert worker_store.run(fleet_calls.depth()).ready == 0


def test_after_the_cooldown_one_probe_is_made_and_its_success_closes(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """The fifth counted turn makes the breaker half-open; a probe that succeeds is swapped and closes it."""
    host = make_host()
    fail_jobs(host, worker_store, chat(20), 3)
    reasons = [host.prepare(chat(20)).report.reason for _ in range(5)]
    assert reasons == [Reason.BREAKER_OPEN] * 4 + [Reason.OVER_SOFT]
    host.flush()
    assert work_once(worker_store) is not None
    assert host.prepare(chat(20)).report.action is Action.SWAP


def test_an_open_breaker_never_keeps_a_ready_record_from_being_swapped(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """It guards making summaries, not using them."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    late = take(worker_store)
    assert late is not None
    manifest = manifest_of(worker_store, late)
    record = record_of(late, manifest, messages_of(worker_store, late, manifest))
    assert settle(worker_store, late, Outcome.FAILURE)
    fail_jobs(host, worker_store, messages, 2)
    assert host.prepare(messages).report.reason is Reason.BREAKER_OPEN
    assert publish(worker_store, late, record).status is PublishStatus.PUBLISHED
    assert host.prepare(messages).report.action is Action.SWAP


def test_an_edit_before_the_position_fences_the_running_job(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """An edited history raises the generation; the job of the old one can't publish, a new one is asked
    for."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    old = take(worker_store)
    assert old is not None
    manifest = manifest_of(worker_store, old)
    record = record_of(old, manifest, messages_of(worker_store, old, manifest))
    edited = [{"role": "user", "content": "something else: " + REQUEST}, *messages[1:]]
    turn = host.prepare(edited)
    host.flush()
    assert turn.report.action is Action.ENQUEUE
    assert publish(worker_store, old, record).status is PublishStatus.FENCED
    assert work_once(worker_store) is not None
    assert host.prepare(edited).report.action is Action.SWAP


def test_a_record_of_an_edited_history_is_not_swapped(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Law 3: a change before the position makes the record stale for good."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    work_once(worker_store)
    edited = [*messages[:2], {"role": "user", "content": "no, wait"}, *messages[3:]]
    assert host.prepare(edited).swap is None


def test_a_rewound_host_comes_to_a_new_record(make_host: MakeHost, worker_store: SyncStore) -> None:
    """A host that went back before the position, and grew otherwise, is compacted again."""
    host = make_host()
    host.prepare(chat(26))
    host.flush()
    work_once(worker_store)
    rewound = [*chat(3), {"role": "user", "content": "let us do it differently"}]
    for i in range(100, 122):
        turn = host.prepare(rewound)
        host.flush()
        work_once(worker_store)
        rewound = turn.buffer + said(i)
    assert rewound[0]["content"].startswith("<ebbtide")


def test_reset_begins_anew(make_host: MakeHost, worker_store: SyncStore) -> None:
    """After a reset the old job is fenced and the old records no longer count as the session's."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    old = take(worker_store)
    assert old is not None
    before = state(worker_store).generation
    host.reset()
    assert state(worker_store, seq=2).generation == before + 1
    manifest = manifest_of(worker_store, old)
    record = record_of(old, manifest, messages_of(worker_store, old, manifest))
    assert publish(worker_store, old, record).status is PublishStatus.FENCED


def test_a_lost_state_leaves_the_buffer_standing_and_compaction_goes_on(
    make_host: MakeHost, worker_store: SyncStore, database: Any
) -> None:
    """With all store data gone a swapped buffer still says where it stands; the next job builds on its
    summary."""
    host, buffer = make_host(), chat(20)
    host.prepare(buffer)
    host.flush()
    work_once(worker_store)
    buffer = host.prepare(buffer).buffer
    database.flushdb()
    for i in range(20, 45):
        turn = host.prepare(buffer)
        host.flush()
        if job := take(worker_store):
            manifest = manifest_of(worker_store, job)
            assert manifest.base.count > 0
            assert manifest.base_summary is not None
            publish(worker_store, job, record_of(job, manifest, messages_of(worker_store, job, manifest)))
        buffer = turn.buffer + said(i)
        if turn.swap:
            break
    assert turn.swap is not None
    assert "billing/app.py" in turn.buffer[0]["content"]


def test_a_message_changed_in_place_is_noticed_before_anything_is_uploaded(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A host that edits a message it passed before gets a fault, no wrong job, and a right one afterwards."""
    host, messages = make_host(), chat(8)
    assert host.prepare(messages).report.reason is Reason.BELOW_SOFT
    messages[1]["content"] = "rewritten: " + messages[1]["content"]
    messages += [message for i in range(8, 20) for message in said(i)]
    first = host.prepare(messages)
    host.flush()
    assert worker_store.run(fleet_calls.depth()).ready == 0
    second = host.prepare(messages)
    told = [*first.report.faults, *second.report.faults]
    assert [fault.split(":")[0] for fault in told] == ["upload"], told


def test_a_message_changed_in_place_after_the_upload_does_not_vanish_behind_the_summary(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A correction made after the job was uploaded makes its record stale, though the object is the same."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    work_once(worker_store)
    messages[3]["content"] = "corrected: " + messages[3]["content"]
    turn = host.prepare(messages)
    assert turn.swap is None
    assert turn.buffer == messages
    assert [fault.split(":")[0] for fault in turn.report.faults] == ["buffer"]
    host.flush()
    assert host.prepare(messages).report.reason in (Reason.OVER_SOFT, Reason.JOB_PENDING)
    host.flush()
    assert work_once(worker_store) is not None
    assert host.prepare(messages).swap is not None


@pytest.mark.parametrize("content", [{1, 2}, float("nan")])
def test_a_message_changed_in_place_to_no_message_raises_at_the_next_turn(
    make_host: MakeHost, worker_store: SyncStore, content: Any
) -> None:
    """The background work notices it, and the next turn names it to the host."""
    host, messages = make_host(), chat(8)
    host.prepare(messages)
    messages[1]["content"] = content
    messages += [message for i in range(8, 20) for message in said(i)]
    host.prepare(messages)
    host.flush()
    with pytest.raises(InputError) as caught:
        host.prepare(messages)
    assert caught.value.index == 1


@pytest.mark.parametrize(
    ("field", "value"), [("mode", "paused"), ("brk_state", "ajar"), ("h:1", "damaged"), ("newest", "x")]
)
def test_a_state_that_can_not_be_read_never_raises(
    make_host: MakeHost, worker_store: SyncStore, database: Any, field: str, value: str
) -> None:
    """Law 10: whatever stands in the session's state, the host's loop goes on."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    database.hset(OWNER.state, field, value)
    assert host.prepare(messages).buffer == messages
    assert host.prepare(chat(27)).report.sent > 0


def test_a_broker_fault_tells_nothing_of_its_url(make_host: MakeHost, server: EmbeddedServer) -> None:
    """A password that breaks the URL is in no fault."""
    host = make_host(broker="redis://user:hun#ter2@localhost:1/0", state=server.url)
    first = host.prepare(chat(20))
    host.flush()
    told = " ".join([*first.report.faults, *host.prepare(chat(20)).report.faults])
    assert "broker" in told
    assert "hun" not in told


def test_a_body_that_is_not_the_named_one_is_never_swapped(
    make_host: MakeHost, worker_store: SyncStore, database: Any
) -> None:
    """Law 8: a record whose stored body was replaced or damaged leaves the buffer as it is, and is told."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    work_once(worker_store)
    database.set(OWNER.record(1), b"damaged", px=60_000)
    turn = host.prepare(messages)
    assert turn.swap is None
    assert turn.buffer == messages
    assert any(fault.startswith("record 1") for fault in turn.report.faults)


@pytest.mark.parametrize(
    ("messages", "index", "path"),
    [
        ("no list", None, "messages"),
        ([{"role": "user", "content": "a"}, "no object"], 1, ""),
        ([{"content": "no role"}], 0, "role"),
        ([{"role": "user", "content": [{"type": "text", "text": {1, 2}}]}], 0, "content[0].text"),
        ([{"role": "user", "content": float("nan")}], 0, "content"),
        ([{"role": "user", "content": "a", "ebbtide": "pinned"}], 0, "ebbtide"),
    ],
)
def test_bad_messages_are_named_and_nothing_is_lost(
    make_host: MakeHost, messages: Any, index: int | None, path: str
) -> None:
    """An input that is no conversation raises with index and path; the next turn works."""
    host = make_host()
    host.prepare(chat(2))
    with pytest.raises(InputError) as caught:
        host.prepare(messages)
    assert (caught.value.index, caught.value.path) == (index, path)
    assert host.prepare(chat(3)).report.action is Action.KEEP


@pytest.mark.parametrize("name", ["", "a" * 257, "line\nbreak", "\ud800"])
@pytest.mark.parametrize("argument", ["tenant", "session_id", "model"])
def test_names_outside_the_limits_are_refused(argument: str, name: str) -> None:
    """Tenant, session and model names have 1 to 256 bytes and no control characters."""
    names: dict[str, Any] = {"tenant": "acme", "session_id": "chat", "model": "gpt-test", argument: name}
    with Pool(NOTHING_LISTENS) as pool, pytest.raises(LimitError, match=argument):
        pool.session(**names, context_window=1_000)


@pytest.mark.parametrize("window", [0, -1, True, 1.5, "8000"])
def test_a_window_that_is_no_whole_number_is_refused(window: Any) -> None:
    """A context window is a whole number of tokens above zero."""
    with Pool(NOTHING_LISTENS) as pool, pytest.raises(InputError, match="context_window"):
        pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=window)
