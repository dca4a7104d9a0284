"""A fleet of workers against a provider whose limit changes, in virtual time."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from ebbtide_core.limiter import Account, Told
from ebbtide_core.metrics import NullRecorder
from ebbtide_worker.accounts import Accounts
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault
from tests.worker.virtual import run

if TYPE_CHECKING:
    from ebbtide_core.store.script import Call

R = TypeVar("R")

WORKERS: Final = 8
CALLERS: Final = 6
"""Calls that each worker has going."""

PHASE: Final = 90.0
SETTLED: Final = 30.0
"""Seconds of a phase after which the fleet has to have found its limit."""

FIRST: Final = 10.0
"""Seconds of a phase in which refusals may be many."""


def now() -> float:
    """The loop's time."""
    return asyncio.get_running_loop().time()


@dataclass
class PureStore:
    """The account as the pure rules keep it; the scripts agree with them, see `tests/store`."""

    account: Account = field(default_factory=Account)
    asked: int = 0

    async def run(self, call: Call[R]) -> R:
        """Run one of the account's calls."""
        await asyncio.sleep(0.001)
        at = math.floor(1000 * now()) / 1000
        result: Any
        if call.script == "account_admit":
            self.asked += 1
            ticket, waited, patience, answered, _ = call.argv
            self.account, result = self.account.admit(
                at,
                ticket=int(ticket),
                waited=float(waited),
                patience=float(patience),
                answered=int(answered),
            )
        else:
            what, after, answered, _ = call.argv
            retry_after = None if after == "" else float(after)
            self.account = self.account.told(
                Told(str(what)), at, retry_after=retry_after, answered=int(answered)
            )
            result = self.account.free
        return result  # type: ignore[no-any-return]


@dataclass
class Provider:
    """Serves so many calls a second, `burst` at once, and tells the others when to come back, in whole
    seconds unless it is `exact`.
    """

    burst: float
    exact: bool
    level: float = 0.0
    at: float = 0.0
    served: list[tuple[float, int]] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)

    @staticmethod
    def allowed(at: float) -> float:
        """Return the calls a second at a time."""
        return 5.0 if PHASE <= at < 2 * PHASE else 20.0

    def ask(self, worker: int) -> SummariserFault | None:
        """Serve a call, or not."""
        rate = self.allowed(now())
        self.level = min(self.burst, self.level + (now() - self.at) * rate)
        self.at = now()
        if self.level >= 1:
            self.level -= 1
            self.served.append((now(), worker))
            return None
        self.refused.append(now())
        wait = (1 - self.level) / rate
        return SummariserFault(FaultKind.RATE_LIMITED, retry_after=wait if self.exact else math.ceil(wait))


async def caller(worker: int, accounts: Accounts, provider: Provider, random: Random) -> None:
    """Make one call after the other until the end, as a worker does."""
    calls = 0
    while now() < 3 * PHASE:
        try:
            await accounts.admitted("a", deadline=now() + 600)
        except SummariserFault as fault:
            await asyncio.sleep(fault.retry_after or 0.0)
            continue
        await asyncio.sleep(0.05)
        refused = provider.ask(worker)
        if refused is None:
            await asyncio.sleep(random.uniform(0.5, 3.0))
        await accounts.told("a", refused)
        calls = calls + 1 if refused else 0
        if refused:
            wait = random.random() * min(8.0, 0.5 * 2 ** (calls - 1))
            await asyncio.sleep((refused.retry_after or 0.0) + wait)


async def fleet(provider: Provider, seed: int) -> None:
    """Let all workers work through three phases."""
    random, store = Random(seed), PureStore()
    processes = [Accounts(store, NullRecorder(), now) for _ in range(WORKERS)]
    await asyncio.gather(
        *(caller(n, process, provider, random) for n, process in enumerate(processes) for _ in range(CALLERS))
    )


@pytest.mark.parametrize(("burst", "exact", "seed"), [(2.0, True, 1), (5.0, False, 2), (20.0, False, 3)])
def test_a_fleet_finds_the_limit_and_shares_it(burst: float, exact: bool, seed: int) -> None:
    """Down to a quarter and up again: 80 % of what is allowed is used, not 10 % is refused, and each worker
    gets its part.
    """
    provider = Provider(burst, exact)
    run(fleet(provider, seed))
    for phase in range(3):
        begin, end = phase * PHASE + SETTLED, (phase + 1) * PHASE
        served = [worker for at, worker in provider.served if begin <= at < end]
        refused = sum(phase * PHASE + FIRST <= at < end for at in provider.refused)
        assert len(served) >= 0.8 * provider.allowed(begin) * (end - begin)
        assert refused < 0.1 * (refused + len(served))
        assert min(served.count(worker) for worker in range(WORKERS)) > 0.5 * len(served) / WORKERS


def test_processes_take_turns() -> None:
    """However many calls of one wait before those of another, and no place is asked for more than twice."""
    store, order = PureStore(Account().told(Told.LIMITED, 0.0)), list[str]()

    async def call(name: str, accounts: Accounts) -> None:
        await accounts.admitted("a", deadline=600)
        order.append(name)

    async def both() -> None:
        many, few = (Accounts(store, NullRecorder(), now) for _ in range(2))
        await asyncio.gather(*(call("many", many) for _ in range(6)), *(call("few", few) for _ in range(2)))

    run(both())
    assert order == ["many", "few", "many", "few", "many", "many", "many", "many"]
    assert store.asked <= 2 * len(order)
