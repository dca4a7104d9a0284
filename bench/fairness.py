"""(g) Fairness: small tenants beside a large one, on a real worker, broker and state store."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import redis
from tests.waiting import wait_until

from bench.report import Cell, Goal, Result
from bench.work.ground import Ground
from bench.work.jobs import Shape, enqueue_for
from ebbtide_core import metrics, names
from ebbtide_core.contract.tenant import TenantPolicy
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls

SLOTS: Final = 4
LATENCY: Final = 0.1
CAP: Final = 2
SHAPE: Final = Shape(1, 1_000)
MEDIAN_RANK: Final = 16
MAX_RANK: Final = 32
SLOWER: Final = 1.1
_LONGEST: Final = 300.0
_NO_TICK: Final = 3_600.0
"""Seconds: no maintenance sends permits while jobs are being enqueued."""

_EVERY: Final = 4
"""Draws without a cap for each time that there is one, or that one tenant has all the jobs."""

_COLUMNS: Final = (
    "", "draws", "jobs", "median rank of a small tenant's job", "highest", "seconds", "takes a job",
    "takes in vain",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs of the large tenant, how many small ones come after it, and jobs of each of those."""

    large: int
    tenants: int
    small: int

    @property
    def jobs(self) -> int:
        """Jobs of all."""
        return self.large + self.tenants * self.small

    def owners(self, draw: random.Random) -> list[Owner]:
        """Return whose jobs there are, in the order in which they are enqueued; names say nothing."""
        large, *rest = (f"{draw.getrandbits(64):016x}" for _ in range(1 + self.tenants))
        counts = [(large, self.large), *((tenant, self.small) for tenant in rest)]
        return [Owner(tenant, f"{tenant}-{at}") for tenant, number in counts for at in range(number)]


@dataclass(frozen=True, slots=True)
class Served:
    """One draw: `ranks`, from 1, at which the small tenants' jobs were taken, the seconds from the permits to
    the last job's end, and how often the worker asked for a job.
    """

    ranks: Sequence[int]
    seconds: float
    takes: int


def run(*, quick: bool) -> Result:
    """Return the table: without a cap, with one, and one tenant with all the jobs."""
    load, draws = (Load(12, 2, 2), 1) if quick else (Load(200, 4, 5), 20)
    alone = Load(load.jobs, 0, 0)
    free, capped, first = list[Served](), list[Served](), list[Served]()
    with Ground(summariser="anthropic", concurrency=SLOTS, tick=_NO_TICK) as ground:
        ground.answer(LATENCY)
        served(ground, Load(8, 0, 0), random.Random("warm"))
        for seed in range(draws):
            if seed % _EVERY == 0:
                first.append(served(ground, alone, random.Random(f"alone {seed}")))
                capped.append(served(ground, load, random.Random(f"capped {seed}"), cap=CAP))
            free.append(served(ground, load, random.Random(f"free {seed}")))
    return Result(
        name="fairness",
        title=f"Fairness: {load.large} jobs of one tenant, then {load.small} of each of {load.tenants}, "
        f"{SLOTS} slots, {LATENCY:g} s a call",
        columns=_COLUMNS,
        rows=(
            _row("no cap", load, free),
            _row(f"a cap of {CAP}", load, capped),
            _row("one tenant has them all", alone, first),
        ),
        goals=_goals(load, free, capped, first),
        notes=(
            "Of each draw of tenant names all jobs are enqueued by real hosts, then the broker gets a permit "
            "for each. Ranks are those in which the jobs were taken, read from the state store; seconds and "
            "takes are the median of the draws, ranks those of all.",
            "A take in vain found no job, or none that its tenant's cap allows: a worker asks when a permit "
            "comes and when a job has ended, and never otherwise. Maintenance, which sends permits up to the "
            "free slots, is off.",
        ),
    )


def served(ground: Ground, load: Load, draw: random.Random, *, cap: int | None = None) -> Served:
    """Have a worker do a load of jobs that are all ready, each tenant with at most `cap` at a time."""
    owners = load.owners(draw)
    ground.store.run(fleet_calls.limits_put(None, TenantPolicy(concurrency=cap)))
    enqueue_for(ground, SHAPE, owners)
    takes, ended = _takes(ground), ground.worker.ended
    began = time.perf_counter()
    ground.permits.send(len(owners))
    wait_until(lambda: ground.worker.ended >= ended + len(owners), "all jobs end", _LONGEST)
    seconds = time.perf_counter() - began
    wait_until(lambda: _takes(ground) >= takes + 2 * len(owners), "all permits are spent")
    small = {owner.member for owner in owners if owner.tenant != owners[0].tenant}
    mine = {owner.member for owner in owners}
    order = [member for member in _order(ground) if member in mine]
    ranks = [rank for rank, member in enumerate(order, 1) if member in small]
    return Served(ranks, seconds, _takes(ground) - takes)


def _takes(ground: Ground) -> int:
    return ground.worker.counts(metrics.STORE_TRIPS)["take",]


def _order(ground: Ground) -> list[str]:
    """Return the sessions in the order in which their last jobs were taken."""
    client: Any = redis.Redis.from_url(ground.state.url)
    members = [member.decode() for member in client.zrange(names.fleet("sessions"), 0, -1)]
    client.close()
    return members


def _ranks(draws: Sequence[Served]) -> list[int]:
    return [rank for draw in draws for rank in draw.ranks]


def _seconds(draws: Sequence[Served]) -> float:
    return median(draw.seconds for draw in draws)


def _row(name: str, load: Load, draws: Sequence[Served]) -> tuple[Cell, ...]:
    ranks, takes = _ranks(draws), median(draw.takes for draw in draws)
    placed: tuple[Cell, Cell] = (median(ranks), max(ranks)) if ranks else ("", "")
    in_vain = round(takes - load.jobs)
    return (name, len(draws), load.jobs, *placed, _seconds(draws), takes / load.jobs, in_vain)


def _goals(
    load: Load, free: Sequence[Served], capped: Sequence[Served], first: Sequence[Served]
) -> tuple[Goal, ...]:
    ranks, under_cap = _ranks(free), _ranks(capped)
    share = _seconds(free) / _seconds(first)
    most, allowed = max(draw.takes for draw in (*free, *capped)), 2 * load.jobs
    return (
        Goal(
            "Median rank of the small tenants' jobs", f"at most {MEDIAN_RANK} of {load.jobs}",
            f"{median(ranks):g}; with the cap {median(under_cap):g}",
            max(median(ranks), median(under_cap)) <= MEDIAN_RANK,
        ),
        Goal(
            "Highest rank", f"at most {MAX_RANK}", f"{max(ranks)}; with the cap {max(under_cap)}",
            max(*ranks, *under_cap) <= MAX_RANK,
        ),
        Goal(
            "Time for all jobs, over that of one tenant's", f"at most {SLOWER}",
            f"{share:.2f}", share <= SLOWER,
        ),
        Goal(
            "Most takes of a draw", f"at most {allowed}: one a job's end, one a permit", f"{most}",
            most <= allowed,
        ),
    )  # fmt: skip
