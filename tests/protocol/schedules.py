"""Schedules that once broke a draft of the protocol, each the shortest known.

Host 0 is raw, 1 and 2 keep their buffer. They are played on the real store, and on wrong implementations,
which they must expose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbtide_core.breaker import Outcome
from tests.protocol.ground import COOLDOWN, FAILURES

if TYPE_CHECKING:
    from tests.protocol.world import World


def published(world: World, i: int, messages: int = 8) -> None:
    """Host i grows and a record of it is published, which it has not seen yet."""
    world.grow(i, messages)
    world.round(i)


def taken(world: World, i: int, k: int = 0) -> None:
    """Host i, above soft, enqueues a job, and worker k pays for it."""
    world.host(i)
    world.work(k)


def nothing_yet(world: World) -> None:
    """Nobody said anything."""


def handed_back(world: World) -> None:
    """A worker that has begun to pay stops; another takes the job, then a word of the first arrives."""
    world.grow(1, 8)
    taken(world, 1)
    world.hand_back(0)
    world.take(1)
    world.late(0)


def above_soft(world: World) -> None:
    """Hosts 0 and 1 share a history above soft."""
    world.grow(1, 8)
    world.catch_up(0, 1)


def next_job_queued(world: World) -> None:
    """Host 1 swapped a first record and has the next job queued; host 0 follows with the raw history."""
    published(world, 1)
    world.host(1)
    world.grow(1, 8)
    world.catch_up(0, 1)
    world.host(1)


def breaker_opens(world: World, i: int = 0) -> None:
    """Three jobs in a row fail."""
    world.grow(i, 8)
    for _ in range(FAILURES):
        world.round(i, outcome=Outcome.FAILURE)


def claim_without_job(world: World) -> None:
    """A host dies between claim and upload."""
    world.grow(0, 8)
    world.turn(0)
    world.claim(0)
    world.restart(0)


def edit_below_record(world: World) -> None:
    """The first message is changed after a record was published over it."""
    published(world, 0)
    world.edit(0, 7)


def rewind_below_record(world: World) -> None:
    """The history is rewound to its first message: its chain is shorter than the record's position."""
    published(world, 0, 30)
    world.edit(0, 29, cut=True)


def record_without_body(world: World) -> None:
    """The body of a record that waits is gone."""
    published(world, 1)
    world.lose_records()


def base_without_record(world: World) -> None:
    """The state expires after a host swapped: the buffer's summary is known to nobody else."""
    published(world, 1)
    world.host(1)
    world.lose_state()


def probe_lost_to_fork(world: World) -> None:
    """The worker of the half-open breaker's probe dies, then the history forks."""
    breaker_opens(world)
    for _ in range(COOLDOWN):
        world.turn(0)
    world.host(0)
    world.take(0)
    world.guard(0)
    world.crash(0)
    world.edit(0, 7)
    world.turn(0)


def bad_memo(world: World) -> None:
    """A partial is paid for that will never pass validation."""
    world.grow(0, 8)
    world.round(0, good=False)


def buffer_taken_over(world: World) -> None:
    """Two hosts keep one buffer; one of them restarts when all data is lost."""
    published(world, 2)
    world.host(2)
    world.take_over(1, 2)
    world.lose_all()
    world.restart(1)


def newest_is_not_best(world: World) -> None:
    """A long record, then a fork and a shorter one on the common beginning, then the first history again."""
    published(world, 0, 30)
    world.save(0)
    world.edit(0, 3, cut=True)
    world.round(0)
    world.restart(0, old=True)
    world.grow(0, 4)
    world.turn(0)


def record_between_turn_and_claim(world: World) -> None:
    """A record is published after a host's turn and before its claim for the same position."""
    world.grow(1, 8)
    taken(world, 1)
    world.turn(1)
    world.finish(0)
    world.claim(1)


def version_taken_back(world: World) -> None:
    """The host swapped to a version that a replica never got."""
    world.grow(1, 8)
    world.turn(1)
    world.snapshot()
    world.round(1)
    world.host(1)
    world.roll_back()


def number_with_another_body(world: World) -> None:
    """Version 1 is lost and given again with another body; a job claimed after the first one ends last."""
    world.say(0)
    world.turn(0)
    world.grow(0, 8)
    world.take_over(2, 0)
    world.snapshot()
    world.round(0)
    world.host(0)
    world.grow(0, 8)
    taken(world, 0)
    world.roll_back()
    world.round(2, 1)
    world.finish(0)


def claimed_again_after_stall(world: World) -> None:
    """A worker stalls, its job is put back and dropped, the position is claimed again; then it wakes up."""
    world.grow(1, 8)
    taken(world, 1)
    world.time(300)
    world.tick()
    world.time(130)
    world.tick()
    taken(world, 1, 1)
    world.pay(0)


def published_and_going_on(world: World) -> None:
    """A worker publishes, hears no reply and goes on; another pays for the next job meanwhile."""
    world.grow(1, 8)
    taken(world, 1)
    world.publish(0)
    world.host(1)
    world.grow(1, 8)
    taken(world, 1, 1)
    world.pay(0)


def late_failures(world: World) -> None:
    """Three stalled attempts fail after each was replaced."""
    world.grow(1, 8)
    for k in range(FAILURES):
        taken(world, 1, k)
        world.time(300)
        world.tick()
        world.time(130)
        world.tick()
    world.host(1)
    for k in range(FAILURES):
        world.finish(k, Outcome.FAILURE)


def two_summaries(world: World) -> None:
    """A worker stalls with a summary, the claim runs out, and another makes one that reaches farther."""
    world.grow(1, 8)
    taken(world, 1)
    world.time(50)
    world.grow(1, 2)
    taken(world, 1, 1)


def late_publish_first(world: World) -> None:
    """The stalled worker publishes before the one that took its place."""
    two_summaries(world)
    world.finish(0)
    world.finish(1)


def late_publish_last(world: World) -> None:
    """The stalled worker publishes after the one that took its place."""
    two_summaries(world)
    world.finish(1)
    world.finish(0)


def published_and_superseded(world: World) -> None:
    """A worker of an earlier claim publishes late, while the next job is going."""
    two_summaries(world)
    world.finish(1)
    world.grow(1, 8)
    world.host(1)
    world.finish(0)
