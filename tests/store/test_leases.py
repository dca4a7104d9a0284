"""The scripts `renew`, `done` and `sweep`: running attempts, and what becomes of lost ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ebbtide_core.contract.job import Urgency
from ebbtide_core.store.results import EnqueueStatus, RenewStatus, SweepResult
from tests.store.fleet import LEASE, MAX_AGE, TICK, job

if TYPE_CHECKING:
    from tests.store.clock import Clock
    from tests.store.fleet import Fleet

RENEWED, LOST = RenewStatus.RENEWED, RenewStatus.LOST


def test_a_renewed_attempt_is_not_swept(fleet: Fleet, clock: Clock) -> None:
    """An attempt that renews lives on; its lease lasts to its last moment."""
    fleet.put(job("s"))
    running = fleet.taken()
    for _ in range(3):
        clock.advance(LEASE - 1)
        assert fleet.renew(running) is RENEWED
        assert fleet.sweep() == SweepResult(running=1)
    clock.advance(LEASE)
    assert fleet.sweep() == SweepResult(running=1)


def test_a_lease_that_ran_out_unswept_can_be_renewed(fleet: Fleet, clock: Clock) -> None:
    """A late worker that nobody replaced goes on."""
    fleet.put(job("s"))
    running = fleet.taken()
    clock.advance(LEASE + 10)
    assert fleet.renew(running) is RENEWED
    assert fleet.sweep().running == 1


def test_an_expired_attempt_is_put_back_with_the_next_number(fleet: Fleet, clock: Clock) -> None:
    """The dead worker's job is ready again, with its urgency, and its age begins anew."""
    fleet.put(job("s", urgency=Urgency.HI))
    clock.advance(100)
    running = fleet.taken()
    clock.advance(LEASE + 0.001)
    again = job("s", urgency=Urgency.HI, attempt=1)
    assert fleet.sweep() == SweepResult(put_back=(again,))
    assert fleet.renew(running) is LOST
    assert not fleet.done(running)
    clock.advance(MAX_AGE)
    taken = fleet.take()
    assert (taken.job, taken.waited, taken.dropped) == (again, MAX_AGE, ())


def test_a_raised_job_is_put_back_raised(fleet: Fleet, clock: Clock) -> None:
    """Urgency given in the index outlives a lost lease."""
    fleet.put(job("s"))
    fleet.raise_urgency(job("s"))
    fleet.taken()
    clock.advance(LEASE + 1)
    assert fleet.sweep().put_back[0].urgency is Urgency.HI


def test_the_third_lost_lease_is_the_last(fleet: Fleet, clock: Clock) -> None:
    """A job whose workers die is given three times; then it is told as lost, named by its last attempt."""
    fleet.put(job("poison"))
    for attempt in range(3):
        assert fleet.taken().attempt == attempt
        clock.advance(LEASE + 1)
        swept = fleet.sweep()
    assert swept == SweepResult(lost=(job("poison", attempt=2),))
    assert fleet.depth().ready == 0


@pytest.mark.parametrize("ready", [{"epoch": 2}, {"attempt": 1}, {"attempt": 2}, {"generation": 1}])
def test_a_ready_job_that_is_not_behind_outlives_a_put_back_one(
    fleet: Fleet, clock: Clock, ready: dict[str, Any]
) -> None:
    """The lost attempt is simply dropped where a newer or equal one of the session is ready."""
    fleet.put(job("s"))
    fleet.taken()
    fleet.put(job("s", **ready))
    clock.advance(LEASE + 1)
    swept = fleet.sweep()
    assert (swept.put_back, swept.lost, swept.waiting) == ((), (), 1)
    assert fleet.take().job == job("s", **ready)


def test_a_put_back_job_replaces_an_older_ready_one(fleet: Fleet, clock: Clock) -> None:
    """If the ready job is behind the lost attempt, the put-back one takes its place."""
    fleet.put(job("s", epoch=2))
    fleet.taken()
    assert fleet.put(job("s", epoch=1)) is EnqueueStatus.QUEUED
    clock.advance(LEASE + 1)
    assert fleet.sweep().put_back == (job("s", epoch=2, attempt=1),)
    assert fleet.take().job == job("s", epoch=2, attempt=1)
    assert fleet.depth().ready == 0


def test_a_ready_job_of_another_life_is_not_replaced_by_a_put_back_one(fleet: Fleet, clock: Clock) -> None:
    """What was enqueued after the state was lost stays."""
    fleet.put(job("s", epoch=5))
    fleet.taken()
    new = job("s", incarnation="life-2")
    fleet.put(new)
    clock.advance(LEASE + 1)
    assert fleet.sweep().put_back == ()
    assert fleet.take().job == new


def test_attempts_of_two_lives_run_apart(fleet: Fleet) -> None:
    """The same numbers in another incarnation are another attempt."""
    fleet.put(job("s"))
    old = fleet.taken()
    assert fleet.put(job("s", incarnation="life-2")) is EnqueueStatus.QUEUED
    new = fleet.taken()
    assert fleet.depth().running == 2
    assert fleet.done(old)
    assert fleet.renew(new) is RENEWED


def test_done_counts_once(fleet: Fleet) -> None:
    """Taking an attempt off twice lowers the tenant's load once."""
    fleet.put(job("a"), job("b"), job("c"), job("d"))
    first = fleet.taken(cap=2)
    fleet.taken(cap=2)
    assert fleet.done(first)
    assert not fleet.done(first)
    assert fleet.drain(cap=2) == ["c"]


def test_the_sweep_tells_jobs_that_waited_too_long(fleet: Fleet, clock: Clock) -> None:
    """They leave the index, oldest first, also when no worker ever takes."""
    fleet.put(job("b"))
    clock.advance(1)
    fleet.put(job("a"))
    clock.advance(MAX_AGE)
    assert fleet.sweep() == SweepResult(too_old=(job("b"),), waiting=1)
    clock.advance(0.001)
    assert fleet.sweep() == SweepResult(too_old=(job("a"),))


def test_jobs_ready_for_longer_than_a_tick_are_counted(fleet: Fleet, clock: Clock) -> None:
    """Those may lack a permit."""
    fleet.put(job("a"))
    clock.advance(1)
    fleet.put(job("b"))
    clock.advance(TICK)
    assert fleet.sweep().waiting == 1
    clock.advance(0.001)
    assert fleet.sweep().waiting == 2


def test_an_idle_sweep_finds_nothing(fleet: Fleet) -> None:
    """Maintenance of an empty index is empty."""
    assert fleet.sweep() == SweepResult()


def test_many_leases_may_expire_at_once(fleet: Fleet, clock: Clock) -> None:
    """All jobs of a fleet that died are put back, in the order in which their leases ran out."""
    fleet.put(*[job(f"s{i:03}") for i in range(150)])
    for _ in range(150):
        fleet.taken()
        clock.advance(0.001)
    clock.advance(LEASE)
    swept = fleet.sweep()
    assert [j.session_id for j in swept.put_back] == [f"s{i:03}" for i in range(150)]
    assert all(j.attempt == 1 for j in swept.put_back)
