"""Schedules of workers that stop and hand their runs back, on the real store, the model beside it."""

from __future__ import annotations

import pytest

from ebbtide_core.breaker import Outcome
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.fleet_calls import MAX_ATTEMPTS
from ebbtide_core.store.results import ClaimStage, PublishStatus
from tests.protocol import schedules
from tests.protocol.ground import CLAIM_LEASE, QUEUE_LEASE, RUNNING_LEASE
from tests.protocol.quiet import quiet_phase
from tests.protocol.world import World


def in_hand(world: World, k: int = 0) -> None:
    """Host 1, above soft, has a job that worker k pays for."""
    world.grow(1, 8)
    schedules.taken(world, 1, k)


def stage(world: World) -> ClaimStage:
    """Return where the claimed job is; there must be one."""
    assert world.state.claim is not None
    return world.state.claim.stage


def test_another_worker_goes_on_at_once(world: World) -> None:
    """No lease has to run out, and no maintenance is needed: one permit brings the job to the next worker."""
    in_hand(world)
    world.hand_back(0)
    assert stage(world) is ClaimStage.QUEUED
    assert not world.store.index().running
    world.work(1)
    assert stage(world) is ClaimStage.RUNNING
    assert world.finish(1) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_a_late_word_of_the_first_changes_nothing_for_the_second(world: World) -> None:
    """Renewal, end and outcome of the run handed back, before and after the second one asked its guard."""
    schedules.handed_back(world)
    assert stage(world) is ClaimStage.QUEUED
    world.guard(1)
    assert stage(world) is ClaimStage.RUNNING
    world.late(0)
    assert stage(world) is ClaimStage.RUNNING
    world.pay(1)
    world.late(0)
    assert world.finish(1) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_a_late_word_while_the_job_waits_changes_nothing(world: World) -> None:
    """Between the two workers nobody runs the job, and the first can't end its claim any more."""
    in_hand(world)
    world.hand_back(0)
    before = world.state
    world.late(0)
    assert world.state == before
    world.work(1)
    assert world.finish(1) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_the_first_publishes_late_and_wins(world: World) -> None:
    """A publication that was on its way is a valid summary: the second worker is superseded."""
    in_hand(world)
    first = world.workers[0].run
    assert first is not None
    world.hand_back(0)
    world.work(1)
    world.workers[2].run = first
    assert world.publish(2) is PublishStatus.PUBLISHED
    assert world.finish(1) is PublishStatus.SUPERSEDED
    quiet_phase(world, 1)


@pytest.mark.parametrize("times", [1, MAX_ATTEMPTS, 10])
def test_being_handed_back_counts_towards_nothing(world: World, times: int) -> None:
    """However often workers stop, the job still has its three leases to lose; the breaker hears of one."""
    in_hand(world)
    for _ in range(times):
        world.hand_back(0)
        world.work(0)
    for lost in range(MAX_ATTEMPTS):
        assert world.state.breaker.failures == 0
        assert [run.job.attempt for run in world.runs()] == [times + lost]
        world.crash(0)
        world.time(RUNNING_LEASE + 1)
        swept = world.tick()
        world.permit_surplus()
        world.work(0)
    assert [job.attempt for job in swept.lost] == [times + MAX_ATTEMPTS - 1]
    assert world.state.breaker.failures == 1
    assert [letter.attempts for letter in world.store.run(fleet_calls.dead_letters)] == [times + MAX_ATTEMPTS]
    quiet_phase(world, 1)


def test_handed_back_twice_is_once(world: World) -> None:
    """A repeated hand-back, whose first answer was lost, finds no attempt of its worker."""
    in_hand(world)
    run = world.workers[0].run
    assert run is not None
    world.hand_back(0)
    before = world.store.index()
    assert not world.store.run(fleet_calls.hand_back, run.job, "worker-0")
    assert world.store.index() == before
    world.work(1)
    assert not world.store.run(fleet_calls.hand_back, run.job, "worker-0")
    assert world.finish(1) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_another_workers_run_can_not_be_handed_back(world: World) -> None:
    """Only the worker that runs the attempt hands it back."""
    in_hand(world)
    run = world.workers[0].run
    assert run is not None
    before = world.store.index()
    assert not world.store.run(fleet_calls.hand_back, run.job, "worker-1")
    assert world.store.index() == before
    quiet_phase(world, 1)


def test_a_job_whose_claim_was_ended_is_handed_back_in_vain(world: World) -> None:
    """The next worker's guard tells it so, and the index is empty afterwards."""
    in_hand(world)
    world.cancel()
    world.hand_back(0)
    world.work(1)
    assert not world.runs()
    assert not world.store.index().running
    assert not world.store.index().ready
    quiet_phase(world, 1)


def test_a_newer_job_that_waits_is_not_replaced(world: World) -> None:
    """A run whose session has a later claim by now only ends."""
    in_hand(world)
    world.cancel()
    world.host(1)
    (waits,) = world.store.index().ready.values()
    world.hand_back(0)
    assert list(world.store.index().ready.values()) == [waits]
    world.work(1)
    assert world.finish(1) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_the_session_did_not_hear_of_it(world: World) -> None:
    """When the worker dies between index and session, the claim runs on and the next worker renews it."""
    in_hand(world)
    run = world.workers[0].run
    assert run is not None
    assert world.store.run(fleet_calls.hand_back, run.job, "worker-0")
    world.crash(0)
    world.permit_surplus()
    assert stage(world) is ClaimStage.RUNNING
    world.work(1)
    assert world.finish(1) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_the_session_hears_of_it_after_the_next_worker_asked(world: World) -> None:
    """The claim stays as the next worker's guard left it."""
    in_hand(world)
    run = world.workers[0].run
    assert run is not None
    assert world.store.run(fleet_calls.hand_back, run.job, "worker-0")
    world.crash(0)
    world.permit_surplus()
    world.work(1)
    before = world.state
    job = run.job
    assert not world.store.run(
        session_calls.requeued,
        job.owner,
        job_id=job.job_id,
        epoch=job.epoch,
        attempt=job.attempt,
        lease=QUEUE_LEASE,
    )
    assert world.state == before
    assert world.finish(1) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_nobody_takes_what_was_handed_back(world: World) -> None:
    """When all workers are gone the claim runs out with the job's age, and the host claims anew."""
    in_hand(world)
    world.hand_back(0)
    world.permits_lost()
    world.time(QUEUE_LEASE - 1)
    assert [job.attempt for job in world.tick().too_old] == [1]
    assert world.state.claim is None
    world.time(CLAIM_LEASE)
    quiet_phase(world, 1)


def test_what_the_next_worker_fails_counts(world: World) -> None:
    """The run that replaced the one handed back is heard as any other."""
    in_hand(world)
    world.hand_back(0)
    world.work(1)
    world.finish(1, Outcome.FAILURE)
    assert world.state.breaker.failures == 1
    assert world.state.claim is None
    quiet_phase(world, 1)
