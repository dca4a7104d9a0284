"""The scripts `enqueue` and `raise_urgency`: what the ready index holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.store import fleet_calls as calls
from ebbtide_core.store.results import EnqueueResult, EnqueueStatus, RenewStatus, TakeStatus
from tests.store.fleet import LEASE, TTL, job

if TYPE_CHECKING:
    from tests.store.clock import Clock
    from tests.store.fleet import Fleet


def test_a_job_comes_out_as_it_went_in(fleet: Fleet) -> None:
    """The worker gets the very job, with trace headers and all."""
    given = job("s", urgency=Urgency.HI, trace={"traceparent": "00-é"}, attempt=0, base_version=3)
    assert fleet.put(given) is EnqueueStatus.QUEUED
    assert fleet.take().job == given


def test_an_empty_index_gives_nothing(fleet: Fleet) -> None:
    """A permit without a job is EMPTY."""
    assert fleet.take().status is TakeStatus.EMPTY


@pytest.mark.parametrize(
    "newer",
    [
        {"generation": 2, "epoch": 1, "attempt": 0},
        {"generation": 1, "epoch": 6, "attempt": 0},
        {"generation": 1, "epoch": 5, "attempt": 2},
    ],
)
def test_the_higher_attempt_replaces_the_lower(fleet: Fleet, newer: dict[str, Any]) -> None:
    """Generation, epoch and attempt decide in this order; the lower is STALE, whichever came first."""
    old = job("s", generation=1, epoch=5, attempt=1)
    new = job("s", **newer)
    fleet.put(old)
    assert fleet.put(new) is EnqueueStatus.REPLACED
    assert fleet.put(old) is EnqueueStatus.STALE
    assert fleet.put(new) is EnqueueStatus.STALE
    assert fleet.take().job == new
    assert fleet.take().status is TakeStatus.EMPTY


def test_numbers_are_compared_as_numbers(fleet: Fleet) -> None:
    """Epoch ten is higher than epoch nine."""
    fleet.put(job("s", epoch=9))
    assert fleet.put(job("s", epoch=10)) is EnqueueStatus.REPLACED


def test_another_life_of_the_session_replaces_whatever_is_there(fleet: Fleet) -> None:
    """Numbers of different incarnations can't be compared: the one that comes later stays."""
    fleet.put(job("s", generation=7, epoch=9))
    new = job("s", incarnation="life-2", generation=0, epoch=1)
    assert fleet.put(new) is EnqueueStatus.REPLACED
    assert fleet.take().job == new


def test_an_attempt_that_runs_is_not_queued_again(fleet: Fleet) -> None:
    """A host that repeats an enqueue whose answer it missed does not start the job twice."""
    fleet.put(job("s"))
    running = fleet.taken()
    assert fleet.put(running) is EnqueueStatus.STALE
    fleet.done(running)
    assert fleet.depth().running == 0


def test_the_next_job_of_a_running_session_is_queued(fleet: Fleet) -> None:
    """A running attempt does not keep a newer claim's job out."""
    fleet.put(job("s"))
    fleet.taken()
    assert fleet.put(job("s", epoch=2)) is EnqueueStatus.QUEUED


def test_a_replaced_job_waits_from_new(fleet: Fleet, clock: Clock) -> None:
    """The job that replaces another has its own age and urgency."""
    fleet.put(job("s", urgency=Urgency.HI))
    clock.advance(50)
    fleet.put(job("s", epoch=2, urgency=Urgency.LO))
    clock.advance(3)
    taken = fleet.take()
    assert taken.waited == 3
    assert taken.job is not None
    assert taken.job.urgency is Urgency.LO


def test_a_tenant_has_at_most_so_many_ready_jobs(fleet: Fleet) -> None:
    """One more is refused with the reason; replacing one and other tenants' jobs are not."""
    fleet.limit("acme", max_pending=2)
    fleet.limit(None, max_pending=1)
    for session in ("a", "b"):
        assert fleet.put(job(session)) is EnqueueStatus.QUEUED
    refused = fleet.store.run(calls.enqueue(job("c"), ttl=TTL))
    assert refused == EnqueueResult(EnqueueStatus.REFUSED, Refusal.MAX_PENDING)
    assert fleet.put(job("a", epoch=2)) is EnqueueStatus.REPLACED
    assert fleet.put(job("c", "acm")) is EnqueueStatus.QUEUED
    assert fleet.put(job("c", "acme2")) is EnqueueStatus.QUEUED
    assert fleet.refused(job("d", "acme2")) is Refusal.MAX_PENDING
    fleet.take()
    assert fleet.depth().ready == 3


def test_a_queued_job_is_raised_in_place(fleet: Fleet, clock: Clock) -> None:
    """A session at hard moves before the lo jobs of its tenant and keeps its age."""
    fleet.put(job("a"), job("b"))
    clock.advance(7)
    assert fleet.raise_urgency(job("b"))
    taken = fleet.take()
    assert taken.waited == 7
    assert taken.job == job("b", urgency=Urgency.HI)


def test_raising_keeps_the_order_among_urgent_jobs(fleet: Fleet) -> None:
    """A raised job stands where it would stand had it been urgent from the start."""
    fleet.put(job("early"), job("later", urgency=Urgency.HI))
    fleet.raise_urgency(job("early"))
    assert fleet.drain() == ["early", "later"]


def test_only_a_ready_lo_job_is_raised(fleet: Fleet) -> None:
    """There is nothing to raise without a job, for an urgent one, and for one that runs."""
    assert not fleet.raise_urgency(job("s"))
    fleet.put(job("s", urgency=Urgency.HI))
    assert not fleet.raise_urgency(job("s"))
    fleet.put(job("t"))
    fleet.drain()
    assert not fleet.raise_urgency(job("t"))


NAMES = ["a", "a/0", "a:b", "{fleet}", "%2F", "a b", "é\U0001f600", "0", "/", "~", "a|1|2"]


def test_hostile_names_stay_apart(fleet: Fleet) -> None:
    """Tenants and sessions that hold the index's separators come out as themselves, each once."""
    jobs = [job(session, tenant) for tenant in NAMES for session in NAMES]
    fleet.put(*jobs)
    assert fleet.depth().ready == len(jobs)
    assert fleet.depth().tenants == len(NAMES)
    got = [fleet.taken() for _ in jobs]
    assert {j.owner for j in got} == {j.owner for j in jobs}
    assert all(fleet.renew(j) is RenewStatus.RENEWED and fleet.done(j) for j in got)


def test_depth_counts(fleet: Fleet, clock: Clock) -> None:
    """Ready jobs, running attempts, the age of the oldest ready one, tenants that have some, dead letters."""
    assert fleet.depth() == calls.Depth(0, 0, 0.0, 0, 0)
    fleet.put(job("a"), job("b", "other"))
    clock.advance(2.5)
    fleet.put(job("c", "other"))
    fleet.taken()
    assert fleet.depth() == calls.Depth(ready=2, running=1, oldest_ready=2.5, tenants=1, dead=0)
    clock.advance(LEASE + 1)
    fleet.sweep(max_attempts=1)
    assert fleet.depth() == calls.Depth(ready=2, running=0, oldest_ready=LEASE + 3.5, tenants=1, dead=1)


def test_one_worker_at_a_time_has_the_maintenance_lock(fleet: Fleet) -> None:
    """While the lock lives nobody gets it again."""
    assert fleet.store.run(calls.tick_lock("a", LEASE))
    assert not fleet.store.run(calls.tick_lock("b", LEASE))
    assert not fleet.store.run(calls.tick_lock("a", LEASE))
