"""Every schedule that a search of the protocol's drafts found, on the real store, and what closes it.

`test_checkers_fail` plays them without their rule.
"""

from __future__ import annotations

from ebbtide_core.breaker import BreakerState
from ebbtide_core.contract.job import After
from ebbtide_core.store.results import ClaimStatus, PublishStatus
from tests.protocol import schedules
from tests.protocol.ground import COOLDOWN
from tests.protocol.quiet import quiet_phase
from tests.protocol.world import World


def test_breaker_closes_again(world: World) -> None:
    """While open no claim is given, so counted turns make it half-open; the probe's success closes it."""
    schedules.breaker_opens(world)
    seen = []
    for _ in range(COOLDOWN):
        world.turn(0)
        seen.append(world.state.breaker.state)
    assert seen == [BreakerState.OPEN] * (COOLDOWN - 1) + [BreakerState.HALF]
    quiet_phase(world, 0)
    assert world.state.breaker.state is BreakerState.CLOSED


def test_claim_without_a_job_runs_out(world: World) -> None:
    """A claim has a lease from its first moment."""
    schedules.claim_without_job(world)
    quiet_phase(world, 0)


def test_base_is_no_fence(world: World) -> None:
    """After a fork the first job builds on nothing, though a record is kept; it publishes all the same."""
    schedules.edit_below_record(world)
    world.round(0)
    assert world.state.newest.number == 2
    quiet_phase(world, 0)


def test_base_is_no_fence_after_a_loss(world: World) -> None:
    """A buffer that builds on version 1 of a lost life gets version 1 of the next."""
    schedules.published(world, 1)
    world.host(1)
    world.lose_all()
    world.grow(1, 8)
    world.round(1)
    world.host(1)
    assert world.state.newest.number == 1
    assert world.hosts[1].swaps == 2
    quiet_phase(world, 1)


def test_old_generations_contradict_nobody(world: World) -> None:
    """One edit is one fork, however long the next job takes."""
    schedules.edit_below_record(world)
    quiet_phase(world, 0, slow=True)
    assert world.state.generation == 1


def test_rewound_chain_is_a_fork_when_it_would_claim(world: World) -> None:
    """A chain shorter than the record's position is left alone until it wants a claim."""
    schedules.rewind_below_record(world)
    world.grow(0, 4)
    world.host(0)
    assert world.state.generation == 0
    world.grow(0, 2)
    world.host(0)
    assert (world.state.generation, world.state.epoch) == (1, 2)
    quiet_phase(world, 0)


def test_record_that_cannot_be_used_does_not_wait(world: World) -> None:
    """A record whose body is gone keeps nobody from claiming."""
    schedules.record_without_body(world)
    world.grow(1, 3)
    world.turn(1)
    own = world.claim(1)
    assert own is not None
    assert own.status is ClaimStatus.OWN
    world.enqueue(1)
    quiet_phase(world, 1)


def test_record_that_saves_too_little_does_not_wait(world: World) -> None:
    """A record that makes the buffer less than a tenth smaller keeps nobody from claiming."""
    schedules.published(world, 1)
    world.say(1, 60)
    world.say(1)
    world.say(1)
    world.round(1)
    world.host(1)
    assert world.hosts[1].talk.summary is not None
    assert world.hosts[1].talk.summary.version == 2
    quiet_phase(world, 1)


def test_base_comes_with_the_job(world: World) -> None:
    """A worker needs nothing of the lost state to build on the buffer's summary."""
    schedules.base_without_record(world)
    world.grow(1, 8)
    world.round(1)
    world.host(1)
    assert world.hosts[1].swaps == 2
    quiet_phase(world, 1)


def test_forked_probe_gives_its_place_back(world: World) -> None:
    """A probe ends with its claim, also by a fork."""
    schedules.probe_lost_to_fork(world)
    assert (world.state.breaker.state, world.state.breaker.probe) == (BreakerState.HALF, 0)
    quiet_phase(world, 0)


def test_bad_memo_is_dropped(world: World) -> None:
    """A partial that failed validation is paid for again, not found again."""
    schedules.bad_memo(world)
    assert world.state.breaker.failures == 1
    assert not world.ground.memos
    quiet_phase(world, 0)


def test_two_hosts_of_one_buffer_have_one_chain(world: World) -> None:
    """A summary is recognised without the state, so the record of one host applies to the other."""
    schedules.buffer_taken_over(world)
    world.grow(2, 8)
    world.catch_up(1, 2)
    world.round(2)
    world.turn(1)
    world.turn(2)
    assert [host.swaps for host in world.hosts[1:]] == [1, 2]
    quiet_phase(world, 1)


def test_farthest_record_is_used_not_the_newest(world: World) -> None:
    """Back on the first history, its longer record of an older generation is used."""
    schedules.newest_is_not_best(world)
    assert world.state.newest.number == 2
    assert world.hosts[0].talk.summary is not None
    assert world.hosts[0].talk.summary.version == 1
    quiet_phase(world, 0)


def test_two_forks_do_not_hide_the_longest_record(world: World) -> None:
    """With records of three generations, the one farthest along the chain is used."""
    schedules.published(world, 0, 30)
    world.save(0)
    for back in (3, 6):
        world.edit(0, back, cut=True)
        world.round(0)
    world.restart(0, old=True)
    world.grow(0, 4)
    world.turn(0)
    assert [header.generation for header in world.state.headers] == [0, 1, 2]
    assert world.hosts[0].talk.summary is not None
    assert world.hosts[0].talk.summary.version == 1
    quiet_phase(world, 0)


def test_position_reached_meanwhile_is_not_claimed(world: World) -> None:
    """A claim for a position that a record reached since the turn is refused."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.turn(1)
    world.finish(0)
    behind = world.claim(1)
    assert behind is not None
    assert behind.status is ClaimStatus.BEHIND
    quiet_phase(world, 1)


def test_version_taken_back_is_named_by_its_body(world: World) -> None:
    """After a fail-over one number stands for two bodies; no host takes one for the other."""
    schedules.version_taken_back(world)
    world.grow(1, 8)
    world.round(1)
    named = [name for name in world.publications.known if name[:2] == (world.state.incarnation, 1)]
    assert len(named) == 2
    quiet_phase(world, 1)


def test_same_number_with_another_body_is_superseded(world: World) -> None:
    """`after` holds the body's digest: a job claimed after the lost version 1 can't follow the new one."""
    schedules.number_with_another_body(world)
    assert world.state.newest == After(number=1, body=world.state.headers[0].body)
    quiet_phase(world, 0)


def test_claim_of_a_lost_version_cannot_follow(world: World) -> None:
    """A worker whose `after` was rolled back is superseded, not numbered into the gap."""
    world.grow(1, 8)
    world.turn(1)
    world.snapshot()
    world.round(1)
    world.host(1)
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.roll_back()
    assert world.finish(0) is PublishStatus.SUPERSEDED
    assert not world.state.headers
    quiet_phase(world, 1)


def test_publication_within_a_rollback_is_not_doubled(world: World) -> None:
    """A summary paid for before the snapshot and published after the fail-over is version 1, once."""
    world.grow(1, 8)
    world.host(1)
    world.take(0)
    world.guard(0)
    world.snapshot()
    world.pay(0)
    assert world.publish(0) is PublishStatus.PUBLISHED
    world.roll_back()
    assert world.finish(0) is PublishStatus.PUBLISHED
    assert [header.version for header in world.state.headers] == [1]
    quiet_phase(world, 1)


def test_epoch_never_restarts(world: World) -> None:
    """A worker that wakes up finds its job claimed under a higher epoch, and stops paying."""
    schedules.claimed_again_after_stall(world)
    assert [run.job.epoch for run in world.runs()] == [2]
    assert world.state.epoch == 2
    quiet_phase(world, 1)


def test_worker_stops_when_it_was_published(world: World) -> None:
    """A worker that does not know that it published learns it at its next renewal, and stops paying."""
    schedules.published_and_going_on(world)
    assert [run.job.epoch for run in world.runs()] == [2]
    quiet_phase(world, 1)


def test_replaced_attempts_settle_nothing(world: World) -> None:
    """Failures of attempts that were replaced neither open the breaker nor end the good attempt's claim."""
    schedules.late_failures(world)
    assert (world.state.breaker.state, world.state.breaker.failures) == (BreakerState.CLOSED, 0)
    assert world.state.claim is not None
    assert world.state.claim.epoch == 4
    quiet_phase(world, 1)


def test_expired_job_gives_way_to_a_newer_one(world: World) -> None:
    """A job of a lost lease is not put back over a later one of its session."""
    world.grow(1, 8)
    schedules.taken(world, 1)
    world.time(50)
    world.host(1)
    assert world.tick().put_back == ()
    assert [ready.job.epoch for ready in world.store.index().ready.values()] == [2]
    quiet_phase(world, 1)


def test_three_forks_in_ten_turns_are_split_brain(world: World) -> None:
    """Two histories written at once are refused claims for the cool-down, and get them afterwards."""
    world.grow(1, 30)
    for back in (20, 19, 18):
        world.host(1)
        world.edit(1, back)
    world.turn(1)
    refused = world.claim(1)
    assert refused is not None
    assert refused.status is ClaimStatus.SPLIT_BRAIN
    quiet_phase(world, 1)
