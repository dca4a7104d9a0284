"""A job that admission refuses: told in the report, no fault, not waited for, not asked for again at once."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest

from ebbtide import Action, Mode, Policy, Reason
from ebbtide.turns.refused import JITTER, pause
from ebbtide_core.contract.tenant import REFRESH_SECONDS, Refusal, TenantPolicy
from ebbtide_core.metrics import HOST_FAULTS, REFUSALS, MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL, Shell
from tests.host.talk import chat
from tests.waiting import wait_until

PATIENT = SMALL.model_copy(update={"wait_budget": 30.0})
FULL = TenantPolicy(max_pending=0)


class Hours:
    """A clock that a test sets forward."""

    skipped = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return monotonic() + self.skipped


def admit(store: SyncStore, policy: TenantPolicy) -> None:
    """Limit what is admitted of the tenant."""
    store.run(fleet_calls.limits_put("acme", policy))


def refused_once(host: Shell, messages: list[Any]) -> None:
    """Take a turn whose order is refused in the background."""
    assert host.prepare(messages).report.action is Action.ENQUEUE
    host.flush()


@pytest.mark.parametrize(
    ("policy", "reason"), [(FULL, Refusal.MAX_PENDING), (TenantPolicy(mode=Mode.OFF), Refusal.OFF)]
)
def test_a_refusal_is_told_and_is_no_fault(
    make_host: MakeHost, worker_store: SyncStore, policy: TenantPolicy, reason: Refusal
) -> None:
    """The next turn's report, notice and reason name it, a metric counts it once; no order is made again."""
    admit(worker_store, policy)
    recorder = MemoryRecorder()
    host = make_host(recorder=recorder)
    refused_once(host, chat(20))
    for _ in range(3):
        report = host.prepare(chat(20)).report
        host.flush()
        assert (report.action, report.reason, report.refused) == (Action.KEEP, Reason.REFUSED, reason)
        assert report.notice.startswith("No summary is made at present")
        assert report.faults == ()
    assert recorder.total(REFUSALS, reason.value) == recorder.total(REFUSALS) == 1
    assert recorder.total(HOST_FAULTS) == 0
    assert worker_store.run(fleet_calls.depth()).ready == 0


def test_the_claim_is_given_back_and_the_breaker_counts_nothing(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Refused settles neutral."""
    admit(worker_store, FULL)
    refused_once(make_host(), chat(20))
    found = worker_store.run(session_calls.look(Owner("acme", "chat")))
    assert found is not None
    assert found.view.claim is None
    assert found.failures == 0


def test_a_turn_at_hard_does_not_wait_for_what_is_refused(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """The refusal ends the wait that it comes in; the next turn does not even begin to wait."""
    admit(worker_store, FULL)
    host = make_host(policy=PATIENT)
    first, second = host.prepare(chat(27)).report, host.prepare(chat(27)).report
    for report in (first, second):
        assert (report.action, report.reason) == (Action.DEGRADE, Reason.REFUSED)
        assert report.refused is Refusal.MAX_PENDING
        assert report.notice.endswith("too many summaries are waited for already.")
    assert first.waited < PATIENT.wait_budget / 2
    assert second.waited == 0


def test_a_record_that_is_ready_is_swapped_all_the_same(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Admission guards making summaries, never using them."""
    waiting = make_host()
    waiting.prepare(chat(20))
    waiting.flush()
    admit(worker_store, FULL)
    assert work_once(worker_store) is not None
    assert make_host().prepare(chat(27)).report.action is Action.SWAP


def test_after_the_pause_a_job_is_asked_for_again(
    make_host: MakeHost, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten seconds and a share later, once, and it is admitted if it may be by then."""
    hours = Hours()
    monkeypatch.setattr("ebbtide.base.monotonic", hours)
    admit(worker_store, FULL)
    host = make_host()
    refused_once(host, chat(20))
    admit(worker_store, TenantPolicy())
    assert host.prepare(chat(20)).report.reason is Reason.REFUSED
    hours.skipped = REFRESH_SECONDS * (1 + JITTER)
    report = host.prepare(chat(20)).report
    assert (report.action, report.refused) == (Action.ENQUEUE, None)
    host.flush()
    wait_until(lambda: worker_store.run(fleet_calls.depth()).ready == 1, "the job is in the index")


def test_a_refusal_is_told_once_even_if_the_next_turn_comes_late(
    make_host: MakeHost, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That turn asks anew, and still says what became of the last job."""
    hours = Hours()
    monkeypatch.setattr("ebbtide.base.monotonic", hours)
    admit(worker_store, FULL)
    host = make_host()
    refused_once(host, chat(20))
    admit(worker_store, TenantPolicy())
    hours.skipped = 2 * REFRESH_SECONDS
    report = host.prepare(chat(20)).report
    host.flush()
    assert (report.action, report.refused) == (Action.ENQUEUE, Refusal.MAX_PENDING)
    assert host.prepare(chat(20)).report.refused is None


def test_sessions_do_not_come_back_together() -> None:
    """Each session and each claim has its own pause, the same whenever it is worked out, within a bound."""
    pauses = [pause(Owner("acme", str(n)), epoch) for n in range(50) for epoch in (1, 2)]
    assert len(set(pauses)) == len(pauses)
    assert all(REFRESH_SECONDS <= p <= REFRESH_SECONDS * (1 + JITTER) for p in pauses)
    assert max(pauses) - min(pauses) > REFRESH_SECONDS * JITTER / 2
    assert pause(Owner("acme", "chat"), 3) == pause(Owner("acme", "chat"), 3)


def test_a_compaction_by_hand_that_is_refused_changes_nothing(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """It ends at once and says why."""
    admit(worker_store, FULL)
    turn = make_host(policy=Policy(io_budget=10.0)).compact_now(chat(10), timeout=30.0)
    assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.REFUSED)
    assert turn.report.waited < 15
    assert turn.buffer == chat(10)
