"""A tenant for which no summary can be made at present: no claim, no waiting, what is ready is swapped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ebbtide import Action, Reason
from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.metrics import CLAIMS, MemoryRecorder
from ebbtide_core.store import fleet_calls, tenant_calls
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL, Shell
from tests.host.talk import chat
from tests.waiting import wait_until

PATIENT = SMALL.model_copy(update={"wait_budget": 30.0})


def block(store: SyncStore, reason: BlockReason = BlockReason.AUTH, seconds: float = 600) -> None:
    """Block the tenant, as a worker does."""
    store.run(tenant_calls.block_put("acme", reason, seconds))


def informed(host: Shell) -> Shell:
    """Return a host that has read about its tenant, as it does from a session's creation on."""
    assert host.flush()
    return host


@pytest.mark.parametrize("reason", list(BlockReason))
def test_between_the_watermarks_nothing_is_asked_for(
    make_host: MakeHost, worker_store: SyncStore, reason: BlockReason
) -> None:
    """The buffer is kept, and the report says why."""
    block(worker_store, reason)
    recorder = MemoryRecorder()
    report = informed(make_host(recorder=recorder)).prepare(chat(20)).report
    assert (report.action, report.reason) == (Action.KEEP, Reason.PROVIDER_DOWN)
    assert report.block is reason
    assert report.notice.startswith("No summary is made at present: ")
    assert recorder.total(CLAIMS) == 0
    assert worker_store.run(fleet_calls.depth()).ready == 0


def test_at_hard_the_turn_degrades_at_once(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Nobody waits for a provider that makes no summary."""
    block(worker_store)
    report = informed(make_host(policy=PATIENT)).prepare(chat(27)).report
    assert (report.action, report.reason, report.waited) == (Action.DEGRADE, Reason.PROVIDER_DOWN, 0)
    assert report.notice.endswith("the provider refuses the credentials.")


def test_a_record_that_is_ready_is_swapped(make_host: MakeHost, worker_store: SyncStore) -> None:
    """A block stands in the way of making summaries, not of using them."""
    host = make_host()
    host.prepare(chat(20))
    host.flush()
    assert work_once(worker_store) is not None
    block(worker_store)
    assert informed(make_host()).prepare(chat(27)).report.action is Action.SWAP


def test_a_short_request_is_not_told_of_the_block(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Below soft nothing is wanted: the report names the block, the notice and the reason don't."""
    block(worker_store)
    report = informed(make_host()).prepare(chat(2)).report
    assert (report.reason, report.notice) == (Reason.BELOW_SOFT, "")
    assert report.block is BlockReason.AUTH


@contextmanager
def blocked_once_queued(store: SyncStore) -> Iterator[None]:
    """Block the tenant as soon as its job is in the index."""

    def work() -> None:
        wait_until(lambda: store.run(fleet_calls.depth()).ready == 1, "the job is in the index")
        block(store, BlockReason.PROVIDER_DOWN)

    thread = threading.Thread(target=work)
    thread.start()
    yield
    thread.join()


def test_a_block_that_comes_while_waiting_ends_the_wait(
    make_host: MakeHost, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn degrades at once, and so does the next one, although the job is still there."""
    monkeypatch.setattr("ebbtide.tenants.REFRESH_SECONDS", 0.0)
    host = make_host(policy=PATIENT)
    with blocked_once_queued(worker_store):
        first = host.prepare(chat(27)).report
    assert (first.action, first.reason) == (Action.DEGRADE, Reason.PROVIDER_DOWN)
    assert first.waited < PATIENT.wait_budget / 2
    host.flush()
    assert host.prepare(chat(27)).report.waited == 0


def test_once_the_block_is_over_a_job_is_asked_for(
    make_host: MakeHost, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end needs no word of the store."""
    monkeypatch.setattr("ebbtide.tenants.REFRESH_SECONDS", 600.0)
    block(worker_store, seconds=0.4)
    host = informed(make_host())
    wait_until(lambda: host.prepare(chat(20)).report.action is Action.ENQUEUE, "the block is over")
