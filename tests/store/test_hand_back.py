"""The script `hand_back`: what becomes of the job; tests/protocol has what workers make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ebbtide_core import names
from ebbtide_core.contract.job import Urgency
from ebbtide_core.store.results import RenewStatus, SweepResult
from tests.store.fleet import LEASE, MAX_AGE, WORKER, job

if TYPE_CHECKING:
    from tests.store.clock import Clock, Database
    from tests.store.fleet import Fleet


def test_it_is_given_again_as_its_next_attempt(fleet: Fleet, clock: Clock) -> None:
    """With the urgency that it had, and an age that begins anew."""
    fleet.put(job("s"))
    fleet.raise_urgency(job("s"))
    clock.advance(MAX_AGE)
    running = fleet.taken()
    clock.advance(LEASE)
    assert fleet.hand_back(running)
    assert fleet.depth().running == 0
    clock.advance(MAX_AGE)
    again = fleet.take()
    assert (again.job, again.waited) == (job("s", urgency=Urgency.HI, attempt=1), MAX_AGE)


@pytest.mark.parametrize("worker", ["another", WORKER + " ", ""])
def test_only_its_own_worker_can(fleet: Fleet, worker: str) -> None:
    """Another, also one whose name is much like it, changes nothing."""
    fleet.put(job("s"))
    running = fleet.taken()
    assert not fleet.hand_back(running, worker)
    assert fleet.renew(running) is RenewStatus.RENEWED
    assert fleet.depth().ready == 0


def test_a_lease_that_was_lost_can_not_be_handed_back(fleet: Fleet, clock: Clock) -> None:
    """Maintenance was first: the job is ready once."""
    fleet.put(job("s"))
    running = fleet.taken()
    clock.advance(LEASE + 1)
    fleet.sweep()
    assert not fleet.hand_back(running)
    assert fleet.depth().ready == 1
    assert fleet.taken().attempt == 1


def test_one_whose_lease_ran_out_unswept_can(fleet: Fleet, clock: Clock) -> None:
    """A late worker that nobody replaced hands its job back as any other, and it costs no lease."""
    fleet.put(job("s"))
    running = fleet.taken()
    clock.advance(LEASE + 1)
    assert fleet.hand_back(running)
    assert fleet.sweep() == SweepResult()
    fleet.taken()
    clock.advance(LEASE + 1)
    assert fleet.sweep(max_attempts=2).put_back == (job("s", attempt=2),)


def test_the_tenants_load_is_lowered(fleet: Fleet) -> None:
    """Its slot is free again, under its cap."""
    fleet.put(job("a"), job("b"))
    assert fleet.hand_back(fleet.taken(cap=1))
    assert [job.session_id for job in (fleet.taken(cap=1),)] == ["a"]
    assert fleet.take(cap=1).job is None


def test_a_fleet_that_stops_hands_all_back_in_order(fleet: Fleet) -> None:
    """Whatever the order in which workers stop, jobs come as they came before."""
    tenants = ["a", "b", "c"]
    fleet.put(*[job(session, tenant) for tenant in tenants for session in ("1", "2")])
    running = [fleet.taken() for _ in range(6)]
    order = [(one.tenant, one.session_id) for one in running]
    for one in (running[4], running[0], running[5], running[2], running[1], running[3]):
        assert fleet.hand_back(one)
    assert [(one.tenant, one.session_id) for one in (fleet.taken() for _ in range(6))] == order


def test_one_that_an_older_worker_took_goes_behind_the_others(fleet: Fleet, database: Database) -> None:
    """Its scripts did not note where the job stood, and left entries else as these do."""
    fleet.put(job("s"), job("t"))
    running = fleet.taken()
    assert database.delete(names.fleet("places"))
    assert fleet.hand_back(running)
    assert fleet.drain() == ["t", "s"]


@pytest.mark.parametrize("end", ["done", "unqueue", "forget_member", "replaced"])
def test_nothing_is_left_of_a_job_that_was_handed_back(fleet: Fleet, database: Database, end: str) -> None:
    """However it goes on: ended, taken out, or replaced."""
    fleet.put(job("s"))
    assert fleet.hand_back(fleet.taken())
    again = job("s", attempt=1)
    if end == "replaced":
        fleet.put(job("s", epoch=2))
    if end in {"done", "replaced"}:
        again = fleet.taken()
        end = "done"
    assert getattr(fleet, end)(again)
    assert not database.exists(names.fleet("places"))


def test_a_torn_attempt_is_left_to_its_lease(fleet: Fleet, database: Database) -> None:
    """Where a server lost single keys, nothing is put back that is not whole."""
    fleet.put(job("s"))
    running = fleet.taken()
    database.hdel(names.fleet("attempts"), database.hkeys(names.fleet("attempts"))[0])
    assert not fleet.hand_back(running)
    assert fleet.depth().ready == 0
