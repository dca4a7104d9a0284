"""All short schedules from a busy beginning, on the model: what random search may miss a few steps away."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from ebbtide_core.breaker import Outcome
from tests.protocol.quiet import quiet_phase
from tests.protocol.schedules import next_job_queued
from tests.protocol.stores import ModelStore
from tests.protocol.world import World

STEPS: Final = int(os.environ.get("EBBTIDE_PROTOCOL_STEPS", "2"))
"""Steps after the beginning; each more takes about fifteen times as long."""

ACTIONS: Final[tuple[Callable[[World], object], ...]] = (
    lambda world: world.host(1),
    lambda world: world.host(0),
    lambda world: world.catch_up(0, 1),
    lambda world: world.take_over(1, 0),
    lambda world: world.edit(0, 4, cut=True),
    lambda world: world.edit(0, 8),
    lambda world: world.restart(1, old=True),
    lambda world: world.save(1),
    lambda world: world.take(0),
    lambda world: world.guard(0),
    lambda world: world.pay(0),
    lambda world: world.finish(0),
    lambda world: world.finish(0, Outcome.FAILURE),
    lambda world: world.work(1),
    lambda world: world.finish(1),
    lambda world: world.publish(1),
    lambda world: world.hand_back(0),
    lambda world: world.late(0),
    lambda world: world.cancel(),
    lambda world: world.tick(),
    lambda world: world.time(40),
    lambda world: world.time(130),
    lambda world: world.grow(1, 8),
    lambda world: world.snapshot(),
    lambda world: world.roll_back(),
    lambda world: world.roll_back(index=False),
    lambda world: world.lose_state(),
    lambda world: world.lose_all(),
)


def fingerprint(world: World) -> str:
    """Return everything that decides how a world goes on."""
    model = world.store
    assert isinstance(model, ModelStore)
    kept, kept_index = model.kept or ({}, None)
    stored = [*model.sessions.values(), None, *kept.values()]
    sessions = [(session.state, session.records) if session else None for session in stored]
    hosts = [(h.talk, h.saved, h.plan, h.job, h.life, h.seq) for h in world.hosts]
    ground = world.ground
    around = (model.now, ground.permits, sorted(ground.uploads), ground.memos)
    handed = [worker.handed for worker in world.workers]
    return repr((sessions, model.fleet.index, kept_index, hosts, world.runs(), handed, around))


def explore(world: World, steps: int, seen: dict[str, int]) -> None:
    """Try all schedules of that many steps; states seen with as many steps left are left out."""
    state = fingerprint(world)
    if seen.get(state, -1) >= steps:
        return
    if state not in seen:
        for i in (0, 1):
            quiet_phase(copy_of(world), i)
    seen[state] = steps
    if steps:
        for act in ACTIONS:
            world_after = copy_of(world)
            act(world_after)
            explore(world_after, steps - 1, seen)


def copy_of(world: World) -> World:
    """Return a world of its own."""
    assert isinstance(world.store, ModelStore)
    return world.on(world.store)


def test_all_short_schedules_keep_the_laws() -> None:
    """From a session with a record, a swapped host, a raw one and a queued job, no few steps break a law."""
    world, seen = World(ModelStore()), dict[str, int]()
    world.snapshot()
    next_job_queued(world)
    explore(world, STEPS, seen)
    assert len(seen) > len(ACTIONS) * STEPS
