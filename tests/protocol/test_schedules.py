"""Named schedules on the real store, the model beside it. Each ends with a host that must swap."""

from __future__ import annotations

import pytest

from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.contract.job import Urgency
from ebbtide_core.store.results import ClaimStage, ClaimStatus, PublishStatus
from tests.protocol import schedules
from tests.protocol.ground import CLAIM_LEASE, COOLDOWN, GUARD_LEASE, QUEUE_LEASE, RUNNING_LEASE
from tests.protocol.hosts import Did
from tests.protocol.quiet import quiet_phase
from tests.protocol.world import World


def versions(world: World) -> list[int]:
    """Return the kept versions."""
    return [header.version for header in world.state.headers]


def test_late_publish_before_a_newer_one_wins(world: World) -> None:
    """A stalled worker that publishes first is the one version; the worker that replaced it is superseded."""
    schedules.two_summaries(world)
    assert world.finish(0) is PublishStatus.PUBLISHED
    assert world.finish(1) is PublishStatus.SUPERSEDED
    assert versions(world) == [1]
    quiet_phase(world, 1)


def test_late_publish_after_a_newer_one_is_superseded(world: World) -> None:
    """A stalled worker that publishes last changes nothing."""
    schedules.two_summaries(world)
    assert world.finish(1) is PublishStatus.PUBLISHED
    before = world.state
    assert world.finish(0) is PublishStatus.SUPERSEDED
    assert world.state == before
    quiet_phase(world, 1)


def test_duplicate_delivery_of_a_publication_is_one_version(world: World) -> None:
    """The same body published again is named a duplicate and changes nothing."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    assert world.publish(0) is PublishStatus.PUBLISHED
    before = world.state
    assert world.publish(0) is PublishStatus.DUPLICATE
    assert world.finish(0) is PublishStatus.DUPLICATE
    assert world.state == before
    quiet_phase(world, 1)


def test_duplicate_delivery_of_an_enqueue_is_one_job(world: World) -> None:
    """A job enqueued twice, even when a worker has it already, is ready or running once."""
    world.grow(1, 8)
    world.turn(1)
    world.claim(1)
    job = world.hosts[1].job
    world.enqueue(1)
    world.enqueue(1)
    assert len(world.store.index().ready) == 1
    world.work(0)
    world.hosts[1].job = job
    world.enqueue(1)
    assert not world.store.index().ready
    assert world.finish(0) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_worker_dies_between_publish_and_release(world: World) -> None:
    """The running lease that a dead worker leaves behind is put back once, found superseded, and gone."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.publish(0)
    world.crash(0)
    world.time(RUNNING_LEASE + 1)
    assert [job.attempt for job in world.tick().put_back] == [1]
    world.time(6)
    world.tick()
    world.work(1)
    assert not world.runs()
    assert not world.store.index().running
    assert versions(world) == [1]
    quiet_phase(world, 1)


@pytest.mark.parametrize(
    ("steps", "stage", "lease"),
    [
        (["claim"], ClaimStage.CLAIMED, CLAIM_LEASE),
        (["claim", "upload"], ClaimStage.CLAIMED, CLAIM_LEASE),
        (["claim", "enqueue"], ClaimStage.CLAIMED, CLAIM_LEASE),
        (["claim", "enqueue", "confirm"], ClaimStage.QUEUED, QUEUE_LEASE),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_host_dies_after(world: World, steps: list[str], stage: ClaimStage, lease: float) -> None:
    """What a dead host claimed is free again when the lease of its stage has run out, and not before."""
    world.grow(1, 8)
    world.turn(1)
    for step in steps:
        getattr(world, step)(1)
    world.permits_lost()
    world.restart(1)
    world.time(lease)
    world.turn(1)
    busy = world.claim(1)
    assert busy is not None
    assert (busy.status, busy.stage) == (ClaimStatus.BUSY, stage)
    world.time(1)
    world.turn(1)
    own = world.claim(1)
    assert own is not None
    assert (own.status, own.epoch) == (ClaimStatus.OWN, 2)
    world.enqueue(1)
    quiet_phase(world, 1)


def test_permit_lost(world: World) -> None:
    """A job whose permit the broker lost gets another from the tick, whatever was sent before."""
    world.grow(1, 8)
    world.host(1)
    world.permits_lost()
    world.work(0)
    assert not world.runs()
    world.time(6)
    assert world.tick().waiting == 1
    world.work(0)
    assert world.finish(0) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_permit_surplus(world: World) -> None:
    """A permit too many finds nothing to take."""
    world.grow(1, 8)
    world.host(1)
    world.permit_surplus()
    world.work(0)
    world.work(1)
    assert [run.job.epoch for run in world.runs()] == [1]
    quiet_phase(world, 1)


@pytest.mark.parametrize("change", ["fork", "reset", "rewind"])
def test_generation_ends_during_a_job(world: World, change: str) -> None:
    """A worker of the generation before is fenced; the session has a new claim at once."""
    world.grow(1, 30)
    schedules.taken(world, 1)
    if change == "fork":
        world.edit(1, 20)
    elif change == "rewind":
        world.edit(1, 20, cut=True)
    else:
        world.reset()
    world.host(1)
    assert (world.state.generation, world.state.epoch) == (1, 2)
    before = world.state
    assert world.finish(0) is PublishStatus.FENCED
    assert world.state == before
    quiet_phase(world, 1)


def test_edit_after_the_position_disturbs_nothing(world: World) -> None:
    """A change behind the job's position is neither a fork nor a reason to refuse the record."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.edit(1, 0)
    world.turn(1)
    assert world.finish(0) is PublishStatus.PUBLISHED
    world.turn(1)
    assert world.state.generation == 0
    assert world.hosts[1].swaps == 1
    quiet_phase(world, 1)


def test_host_behind_waits_below_soft(world: World) -> None:
    """A host that has not heard all yet keeps its buffer; nothing is forked for it."""
    schedules.published(world, 1, 30)
    world.grow(0, 3)
    assert world.turn(0) is Did.KEPT
    assert world.state.generation == 0
    quiet_phase(world, 0)


def test_host_behind_catches_up(world: World) -> None:
    """A host of the same history that was behind uses the record once it has heard it all."""
    world.grow(1, 4)
    world.catch_up(0, 1)
    world.grow(1, 26)
    world.round(1)
    assert world.turn(0) is Did.KEPT
    world.catch_up(0, 1)
    world.turn(0)
    assert (world.hosts[0].swaps, world.state.generation) == (1, 0)
    quiet_phase(world, 0)


def test_state_lost_while_a_job_runs(world: World) -> None:
    """A worker of the lost state is fenced by the new incarnation; the host claims again and goes on."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    lost = world.state.incarnation
    world.lose_state()
    world.host(1)
    assert world.state.incarnation != lost
    assert world.finish(0) is PublishStatus.FENCED
    world.take(1)
    world.guard(1)
    assert [run.job.incarnation for run in world.runs()] == [world.state.incarnation]
    quiet_phase(world, 1)


def test_state_lost_while_a_job_waits(world: World) -> None:
    """The job of the new incarnation takes the place of the lost one's, whose numbers are the same."""
    world.grow(1, 8)
    world.host(1)
    world.lose_state()
    world.host(1)
    ready = [entry.job for entry in world.store.index().ready.values()]
    assert [(job.incarnation, job.epoch) for job in ready] == [(world.state.incarnation, 1)]
    quiet_phase(world, 1)


def test_index_lost(world: World) -> None:
    """A worker whose lease is lost stops paying, and the claim it held is free."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.lose_index()
    world.pay(0)
    assert not world.runs()
    assert world.state.claim is None
    quiet_phase(world, 1)


def test_everything_lost(world: World) -> None:
    """A host that swapped goes on with its buffer when nothing is left of the store."""
    schedules.published(world, 1)
    world.host(1)
    world.lose_all()
    quiet_phase(world, 1)
    assert world.state.headers


@pytest.mark.parametrize(("session", "index"), [(True, True), (True, False), (False, True)])
def test_recent_data_rolled_back(world: World, session: bool, index: bool) -> None:
    """A fail-over to an older copy of the state, of the index or of both costs at most a job."""
    schedules.published(world, 1)
    world.host(1)
    world.grow(1, 8)
    world.host(1)
    world.snapshot()
    world.work(0)
    world.finish(0)
    world.host(1)
    world.grow(1, 8)
    schedules.taken(world, 1, 1)
    world.roll_back(session=session, index=index)
    world.finish(1)
    world.host(1)
    quiet_phase(world, 1)


def test_probe_lost(world: World) -> None:
    """The half-open breaker's probe gives its place back when its claim runs out."""
    schedules.breaker_opens(world)
    for _ in range(COOLDOWN):
        world.turn(0)
    schedules.taken(world, 0)
    assert (world.state.breaker.state, world.state.breaker.probe) == (BreakerState.HALF, 4)
    world.crash(0)
    world.time(GUARD_LEASE + 1)
    world.turn(0)
    assert (world.state.breaker.state, world.state.breaker.probe) == (BreakerState.HALF, 0)
    quiet_phase(world, 0)
    assert world.state.breaker.state is BreakerState.CLOSED


def test_probe_cancelled(world: World) -> None:
    """A probe that someone cancels ends without an outcome, and the breaker gives another."""
    schedules.breaker_opens(world)
    for _ in range(COOLDOWN):
        world.turn(0)
    schedules.taken(world, 0)
    probe = world.state.claim
    assert probe is not None
    assert world.state.breaker.probe == probe.epoch
    assert world.cancel().stage is ClaimStage.RUNNING
    assert (world.state.breaker.state, world.state.breaker.probe) == (BreakerState.HALF, 0)
    quiet_phase(world, 0)


@pytest.mark.parametrize(
    ("steps", "stage"),
    [
        (["claim"], ClaimStage.CLAIMED),
        (["claim", "enqueue"], ClaimStage.CLAIMED),
        (["claim", "enqueue", "confirm"], ClaimStage.QUEUED),
    ],
)
def test_job_cancelled_before_a_worker_has_it(world: World, steps: list[str], stage: ClaimStage) -> None:
    """The claim is free, the job has left the index, and the next turn may claim anew."""
    world.grow(1, 8)
    world.turn(1)
    for step in steps:
        getattr(world, step)(1)
    ended = world.cancel()
    assert (ended.stage, ended.epoch) == (stage, 1)
    assert world.state.claim is None
    assert not world.store.index().ready
    assert world.cancel().ended is False
    world.turn(1)
    assert (own := world.claim(1)) is not None
    assert own.status is ClaimStatus.OWN
    quiet_phase(world, 1)


def test_job_cancelled_while_it_runs(world: World) -> None:
    """Its worker hears it at the next renewal and pays no more; a second job is not mistaken for it."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    cancelled = world.runs()[0].job
    assert world.cancel().epoch == cancelled.epoch
    world.host(1)
    assert [ready.job.epoch for ready in world.store.index().ready.values()] == [cancelled.epoch + 1]
    world.renew(0)
    assert world.runs() == []
    world.work(0)
    assert world.finish(0) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_job_cancelled_too_late(world: World) -> None:
    """A worker that publishes before it hears wins all the same: a late valid summary is not lost."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.cancel()
    assert world.finish(0) is PublishStatus.PUBLISHED
    quiet_phase(world, 1)


def test_failed_probe_opens_the_breaker_again(world: World) -> None:
    """A probe that fails reopens at once; the host claims nothing until the next one."""
    schedules.breaker_opens(world)
    for _ in range(COOLDOWN):
        world.turn(0)
    world.round(0, outcome=Outcome.FAILURE)
    assert world.state.breaker.state is BreakerState.OPEN
    assert world.turn(0) is Did.OPEN
    quiet_phase(world, 0)


def test_poison_job(world: World) -> None:
    """A job that kills each worker is a failure after its third lost lease; three such open the breaker."""
    world.grow(1, 8)
    for failures in range(1, 4):
        world.host(1)
        for attempt in range(3):
            world.work(0)
            assert [run.job.attempt for run in world.runs()] == [attempt]
            world.crash(0)
            world.time(RUNNING_LEASE + 1)
            swept = world.tick()
            world.permit_surplus()
        assert [job.attempt for job in swept.lost] == [2]
        assert world.state.breaker.failures == failures
    assert world.state.breaker.state is BreakerState.OPEN
    quiet_phase(world, 1)


def test_record_that_waits_is_ready(world: World) -> None:
    """A host whose policy does not swap yet is told so instead of being given a claim."""
    schedules.published(world, 1)
    world.grow(1, 3)
    world.turn(1, swaps=False)
    ready = world.claim(1)
    assert ready is not None
    assert (ready.status, ready.version) == (ClaimStatus.READY, 1)
    quiet_phase(world, 1)


def test_withdrawn_record_is_used_by_nobody(world: World) -> None:
    """A withdrawn record is offered no more, and the numbers go on."""
    schedules.published(world, 1)
    world.withdraw()
    world.host(1)
    assert world.hosts[1].swaps == 0
    world.say(1)
    world.round(1)
    world.host(1)
    assert world.hosts[1].talk.summary is not None
    assert world.hosts[1].talk.summary.version == 2
    quiet_phase(world, 1)


def test_clock_set_back(world: World) -> None:
    """A server clock set back only makes leases last longer."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.time(-600)
    world.tick()
    assert world.finish(0) is PublishStatus.PUBLISHED
    world.time(-600)
    quiet_phase(world, 1)


def test_urgency_of_a_queued_job_rises(world: World) -> None:
    """A host that reaches hard while its job is queued raises it, in claim and index."""
    world.grow(1, 7)
    world.host(1)
    world.grow(1, 3)
    world.host(1)
    (ready,) = world.store.index().ready.values()
    assert ready.job.urgency is Urgency.HI
    assert world.state.claim is not None
    assert world.state.claim.urgency is Urgency.HI
    quiet_phase(world, 1)
