"""Liveness: once faults stop, a host that goes on alone with a healthy worker gets new records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ebbtide_core.breaker import Outcome
from tests.protocol.ground import SOFT
from tests.protocol.invariants import Violation

if TYPE_CHECKING:
    from tests.protocol.world import World

SWAPS: Final = 3
MOST_TURNS: Final = 200
PATIENCE: Final = 22
PATIENCE_WHEN_SLOW: Final = 45
"""Turns in a row above soft within which a record must come; slow: a job takes about four turns."""


def quiet_phase(world: World, i: int, *, slow: bool = False) -> int:
    """Let host i go on alone until it swapped three times; return the most turns it waited above soft.

    Raises Violation when it waits longer than it may.
    """
    host, patience = world.hosts[i], PATIENCE_WHEN_SLOW if slow else PATIENCE
    for worker in world.workers:
        worker.crash()
    swapped = host.swaps
    waiting = worst = 0
    for _ in range(MOST_TURNS):
        seen = host.swaps
        world.say(i)
        world.host(i)
        if host.swaps - swapped >= SWAPS:
            return worst
        waiting = 0 if host.swaps > seen else waiting + (host.talk.size >= SOFT)
        worst = max(worst, waiting)
        if waiting > patience:
            state = world.store.state(world.ground.owner)
            raise Violation("liveness", f"no record in {patience} turns above soft: {state}")
        _healthy_worker(world, slow=slow)
    return worst


def _healthy_worker(world: World, *, slow: bool) -> None:
    if slow:
        _one_step(world)
        return
    for _ in range(3):
        world.time(5)
        world.tick()
        world.work(0)
        world.finish(0)


def _one_step(world: World) -> None:
    world.time(10)
    world.tick()
    world.renew(0)
    run = world.workers[0].run
    if run is None:
        world.take(0)
    elif not run.guarded:
        world.guard(0)
    elif not run.paid:
        world.pay(0)
    else:
        world.finish(0, Outcome.SUCCESS)
