"""A host process of the load: its sessions live on one event loop, and it tells what came of them."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

import psutil

from bench.load.life import Life, Plan
from bench.work.process import peak_mb
from ebbtide import AsyncPool, Policy
from ebbtide.aio import AsyncSession


@dataclass(frozen=True, slots=True)
class Config:
    """Sessions `first` up to, not including, `stop`, shared out over so many tenants."""

    broker: str
    state: str
    plan: Plan
    tenants: int
    first: int
    stop: int
    policy: dict[str, Any]

    @classmethod
    def from_json(cls, text: str) -> Config:
        """Return the config that a process was given."""
        told = json.loads(text)
        return cls(**{**told, "plan": Plan(**told["plan"])})

    def to_json(self) -> str:
        """Return the config as an argument."""
        return json.dumps(asdict(self))


@dataclass
class Told:
    """What came of all sessions of the process; times in seconds."""

    turns: int = 0
    swaps: int = 0
    sessions: int = 0
    swapped: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    degraded: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    elapsed: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)
    cpu: float = 0.0
    peak_mb: float = 0.0

    def add(self, life: Life) -> None:
        """Take a session that ended."""
        self.sessions += 1
        self.swaps += len(life.swaps)
        self.swapped += bool(life.swaps)
        self.behind += [messages for _, messages in life.swaps]
        self.wrong += life.wrong


async def live(pool: AsyncPool, config: Config, number: int, told: Told) -> None:
    """Live one session: it begins at a moment of its own, and has a turn each `gap` seconds."""
    tenant, name = f"tenant-{number % config.tenants:02}", f"load-{number}"
    life = Life(name, config.plan)
    session = pool.session(
        tenant=tenant, session_id=name, model="load", dialect="anthropic", context_window=config.plan.window
    )
    due = monotonic() + random.Random(number).uniform(0, config.plan.gap)
    for turn in range(config.plan.turns):
        await asyncio.sleep(max(0.0, due - monotonic()))
        told.late.append(monotonic() - due)
        await prepared(session, life, told)
        life.answer(turn)
        due += config.plan.gap
    told.add(life)


async def prepared(session: AsyncSession, life: Life, told: Told) -> None:
    """Have one turn prepared, and note what it did."""
    turn = await session.prepare(life.buffer, max_tokens=500)
    life.take(turn)
    report = turn.report
    told.turns += 1
    told.actions[report.action.value] += 1
    told.elapsed.append(report.elapsed - report.waited)
    if report.degraded:
        told.degraded[report.reason.value] += 1
    if report.sent > report.context_window:
        told.wrong["a request larger than the window"] += 1
    told.faults.update(fault.partition(":")[0] for fault in report.faults)


async def lived(config: Config) -> Told:
    """Live all sessions of a process side by side, and return what came of them."""
    told = Told()
    pool = AsyncPool(config.broker, config.state, policy=Policy(**config.policy))
    try:
        sessions = range(config.first, config.stop)
        await asyncio.gather(*(live(pool, config, number, told) for number in sessions))
    finally:
        await pool.close()
    told.cpu = sum(psutil.Process().cpu_times()[:2])
    told.peak_mb = peak_mb(os.getpid())
    return told
