"""(f) Load: thousands of sessions of many tenants side by side, with everything on one machine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import psutil
import redis
from tests.waiting import wait_until

from bench.load.ended import Ended, ended
from bench.load.host import Config
from bench.load.life import Plan
from bench.load.stage import Hosts, Stage
from bench.report import Cell, Goal, Result
from bench.samples import percentile
from bench.work.process import peak_mb
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls

LATENCY: Final = 0.2
TENANTS: Final = 50
HOSTS: Final = 2
WORKERS: Final = 2
POLICY: Final[dict[str, Any]] = {"io_budget": 1.0, "wait_budget": 2.0, "keep_recent_tokens": 1_200}
_QUIET_SECONDS: Final = 120.0
_SAMPLE_SECONDS: Final = 0.5
_SHARES: Final = {"median": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
_COLUMNS: Final = ("process", "processor", "peak MB")


@dataclass(frozen=True, slots=True)
class Measured:
    """One load. `usage`: processor seconds and peak MB by process; `ages`: of the oldest ready job."""

    sessions: int
    plan: Plan
    seconds: float
    told: dict[str, Any]
    found: Ended
    outcomes: Counter[str]
    queue_p95: float
    ages: Sequence[float]
    usage: dict[str, tuple[float, float]]
    store_bytes: int
    store_commands: int
    dropped: int


def run(*, quick: bool) -> Result:
    """Return the table: what each process took, and whether anything was lost, late or stale."""
    sessions, plan = (20, Plan(4_000, 10, 1.0, 500)) if quick else (2_000, Plan(9_600, 15, 20.0, 560))
    found = measured(sessions, plan)
    return Result(
        name="load",
        title=f"Load: {sessions:,} sessions of {TENANTS} tenants, {plan.turns * plan.gap / 60:.2g} minutes, "
        f"{LATENCY:g} s a call, all on this machine",
        columns=_COLUMNS,
        rows=tuple(_row(name, *figures, found.seconds) for name, figures in found.usage.items()),
        goals=_goals(found),
        notes=_notes(found),
    )


def measured(sessions: int, plan: Plan) -> Measured:
    """Live all sessions, and read what came of them."""
    with Stage(WORKERS, LATENCY, summariser="anthropic", concurrency=16, map_per_process=32) as stage:
        share = sessions // HOSTS
        configs = [
            Config(stage.broker.url, stage.state.url, plan, TENANTS, n * share, (n + 1) * share, POLICY)
            for n in range(HOSTS)
        ]
        before = _info(stage)
        began = time.monotonic()
        hosts = Hosts(configs, stage.folder)
        try:
            ages = _sampled(stage, hosts)
            usage = _usage(stage)
            told = _summed(hosts.told())
            seconds = time.monotonic() - began
            wait_until(lambda: _idle(stage), "no job waits or runs", _QUIET_SECONDS)
        finally:
            hosts.close()
        after = _info(stage)
        names = (Owner(f"tenant-{n % TENANTS:02}", f"load-{n}") for n in range(HOSTS * share))
        usage = {"hosts, all": (told["cpu"], told["peak_mb"]), **usage}
        return Measured(
            HOSTS * share, plan, seconds, told, ended(stage.store, names), stage.outcomes(),
            stage.queue_age(0.95), ages, usage,
            after["used_memory"] - before["used_memory"],
            after["total_commands_processed"] - before["total_commands_processed"],
            after["evicted_keys"],
        )  # fmt: skip


def _info(stage: Stage) -> dict[str, int]:
    client: Any = redis.Redis.from_url(stage.state.url)
    told = client.info()
    client.close()
    return {name: int(told[name]) for name in ("used_memory", "total_commands_processed", "evicted_keys")}


def _idle(stage: Stage) -> bool:
    depth = stage.store.run(fleet_calls.depth())
    return not depth.ready and not depth.running


def _sampled(stage: Stage, hosts: Hosts) -> list[float]:
    """Look at the index until the hosts end; return the ages of its oldest ready job, in seconds."""
    ages = []
    while hosts.running:
        ages.append(stage.store.run(fleet_calls.depth()).oldest_ready)
        time.sleep(_SAMPLE_SECONDS)
    return ages


def _usage(stage: Stage) -> dict[str, tuple[float, float]]:
    pids = {f"worker {n}": worker.pid for n, worker in enumerate(stage.workers, 1)}
    pids |= {"state store": stage.state.pid, "broker": stage.broker.pid, "stand-in": stage.standin.pid}
    return {name: (sum(psutil.Process(pid).cpu_times()[:2]), peak_mb(pid)) for name, pid in pids.items()}


def _summed(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what all hosts said as one: numbers and lists added, counts by name."""
    whole: dict[str, Any] = {}
    for one in told:
        for name, value in one.items():
            if isinstance(value, dict):
                whole[name] = Counter(whole.get(name, {})) + Counter(value)
            else:
                whole[name] = whole[name] + value if name in whole else value
    return whole


def _row(name: str, cpu: float, peak: float, seconds: float) -> tuple[Cell, ...]:
    return name, f"{100 * cpu / seconds:.0f} % of a core", round(peak)


def _goals(found: Measured) -> tuple[Goal, ...]:
    told, jobs = found.told, found.found
    wrong = sum(told["wrong"].values())
    refused = sum(found.outcomes[reason] for reason in ("superseded", "fenced", "replaced"))
    degraded = sum(told["degraded"].values())
    return (
        Goal("Jobs lost", "none", f"{jobs.lost} of {jobs.enqueued:,}", jobs.lost == 0),
        Goal("Messages lost or doubled, versions that don't rise", "none", str(wrong), wrong == 0),
        Goal("Publications refused as stale", "none", str(refused), refused == 0),
        Goal("Claims left open", "none", str(jobs.open_claims), jobs.open_claims == 0),
        Goal("Turns that had to degrade", "none", str(degraded), degraded == 0),
    )


def _notes(found: Measured) -> tuple[str, ...]:
    told, jobs, turns = found.told, found.found, found.told["turns"]
    seconds, per = found.seconds, found.sessions
    at = {name: _quantiles(told[name], 1e3) for name in ("elapsed", "late")}
    return (
        f"{turns:,} turns in {seconds:.0f} s ({turns / seconds:.0f}/s), {jobs.versions:,} versions "
        f"({jobs.versions / seconds:.1f}/s), {told['swaps']:,} swaps in {told['swapped']:,} sessions. "
        f"Degraded turns: {_listed(told['degraded'])}; faults of hosts: {_listed(told['faults'])}; other "
        f"ends of jobs: {_listed(jobs.others)}.",
        f"Queue age p95: {found.queue_p95:g} s (bucket's bound). The oldest ready job, looked at each "
        f"{_SAMPLE_SECONDS:g} s, in s: {_quantiles(found.ages, 1.0)}.",
        f"A prepare without waiting, in ms: {at['elapsed']}. Turns began late by, in ms: {at['late']}; that "
        f"is the machine. Messages that a record was behind at its swap: {_quantiles(told['behind'], 1.0)}.",
        f"State store: {found.store_bytes / per / 1e3:.1f} kB and {found.store_commands / per:.0f} commands "
        f"a session, {found.store_commands / turns:.1f} a turn, those of jobs and in scripts included; "
        f"{found.dropped} keys evicted.",
    )


def _quantiles(values: Sequence[float], scale: float) -> str:
    if not values:
        return "none"
    told = (f"{name} {scale * percentile(values, share):.3g}" for name, share in _SHARES.items())
    return ", ".join(told)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {times}" for name, times in sorted(counts.items())) or "none"
