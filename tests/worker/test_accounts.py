"""A process's view of provider accounts: waits, refusals, and how seldom it asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from ebbtide_core import metrics
from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.limiter import Standing, Told
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store import account_calls
from ebbtide_core.store.client import AsyncStore, SyncStore
from ebbtide_worker.accounts import MAX_ACCOUNTS, Accounts
from ebbtide_worker.summarisers.anthropic import Anthropic
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault
from tests.standin import Limits, Settings
from tests.standin.fixture import standin
from tests.worker.anthropic.talk import chunk, terms

if TYPE_CHECKING:
    from tests.standin import StandIn
    from tests.store.clock import Clock

__all__ = ["standin"]

RATE_LIMITED = SummariserFault(FaultKind.RATE_LIMITED)
OVERLOADED = SummariserFault(FaultKind.OVERLOADED)
ANSWERS = frozenset(FaultKind) - {
    FaultKind.RATE_LIMITED, FaultKind.OVERLOADED, FaultKind.UNAVAILABLE, FaultKind.TIMEOUT,
    FaultKind.CONNECTION, FaultKind.UNREADABLE, FaultKind.AUTH, FaultKind.SPEND_LIMIT,
    FaultKind.BLOCKED, FaultKind.BUDGET, FaultKind.UNEXPECTED,
}  # fmt: skip


class Process:
    """The accounts of one worker process, on the clock of the store under test: to sleep is to advance it."""

    def __init__(self, store: AsyncStore, clock: Clock) -> None:
        self.clock = clock
        self.recorder = MemoryRecorder()
        self.accounts = Accounts(store, self.recorder, self.now, self.sleep)
        self.slept: list[float] = []
        self.asleep, self.awake = asyncio.Event(), asyncio.Event()
        self.awake.set()

    def now(self) -> float:
        """The store's time."""
        return self.clock.now_ms / 1000

    async def sleep(self, seconds: float) -> None:
        """Let time pass, once `awake` is set."""
        self.slept.append(seconds)
        self.asleep.set()
        await self.awake.wait()
        self.clock.advance(seconds)

    async def admitted(self, account_id: str = "a", patience: float = 60.0) -> None:
        """Wait for a call's admission."""
        await self.accounts.admitted(account_id, deadline=self.now() + patience)

    async def told(self, fault: SummariserFault | None = None, account_id: str = "a") -> None:
        """Tell of a call."""
        await self.accounts.told(account_id, fault)

    async def refused(self, account_id: str = "a", patience: float = 60.0) -> SummariserFault:
        """Return why a call is not admitted."""
        with pytest.raises(SummariserFault) as caught:
            await self.admitted(account_id, patience)
        assert caught.value.kind is FaultKind.BLOCKED
        assert account_id in caught.value.detail
        assert caught.value.usage.calls == 0
        return caught.value


@pytest.fixture
def process(async_store: AsyncStore, clock: Clock) -> Process:
    """A process."""
    return Process(async_store, clock)


@pytest.fixture
def other(async_store: AsyncStore, clock: Clock) -> Process:
    """Another process of the same fleet."""
    return Process(async_store, clock)


async def test_a_healthy_account_costs_a_round_trip_a_second(
    process: Process, async_store: AsyncStore
) -> None:
    """Asked about or told of, by however many calls; what was told late arrives."""
    for second in range(1, 4):
        for _ in range(20):
            await asyncio.gather(*(process.admitted() for _ in range(5)))
            await process.told()
        assert async_store.stats.calls == second
        process.clock.advance(1)
    assert async_store.stats.scripts["account_told"] == 0
    assert process.slept == []
    await process.told(RATE_LIMITED)
    standing = await async_store.run(account_calls.look("a"))
    assert standing.rate == pytest.approx(0.5 * (3 * 20 + 1) / 2)


async def test_long_calls_tell_of_themselves(process: Process, async_store: AsyncStore) -> None:
    """An answer that comes after the account was asked about is told, and makes it free for the next."""
    await process.admitted()
    process.clock.advance(20)
    await asyncio.gather(*(process.told() for _ in range(8)))
    await process.admitted()
    assert async_store.stats.calls == 2


async def test_failures_are_told_at_once(process: Process, other: Process) -> None:
    """The fifth in a row of the fleet shuts the account, for all of its processes within a second."""
    await other.admitted()
    for teller in (process, other, process, other, process):
        await teller.told(OVERLOADED)
    for asked in (process, other):
        fault = await asked.refused()
        assert (fault.block, fault.retry_after) == (BlockReason.PROVIDER_DOWN, 5)
        assert asked.recorder.total(metrics.ACCOUNT_BLOCKED, "provider_down") == 1


async def test_an_answer_in_between_is_no_row(process: Process) -> None:
    """Though it is told with the failure that comes after it."""
    for _ in range(3):
        await process.admitted()
        await process.told()
        for _ in range(4):
            await process.told(OVERLOADED)
        await process.told()
    await process.admitted()


async def test_an_answer_of_long_ago_is_no_news(process: Process, other: Process) -> None:
    """A process that was idle while others failed does not hide that the row goes on."""
    await process.admitted()
    await process.told()
    process.clock.advance(30)
    for teller in (other, other, other, other, process):
        await teller.told(OVERLOADED)
    assert (await other.refused()).block is BlockReason.PROVIDER_DOWN


async def test_one_call_of_the_fleet_probes(process: Process, other: Process) -> None:
    """Its answer is told at once, and lets all others through."""
    for _ in range(5):
        await process.told(OVERLOADED)
    process.clock.advance(5)
    await process.admitted()
    assert (await other.refused()).retry_after == 5
    await process.told()
    await other.admitted()


@pytest.mark.parametrize(
    ("kind", "retry_after", "block", "seconds"),
    [
        (FaultKind.AUTH, None, BlockReason.AUTH, 60),
        (FaultKind.SPEND_LIMIT, None, BlockReason.SPEND_LIMIT, 300),
        (FaultKind.SPEND_LIMIT, 90.0, BlockReason.SPEND_LIMIT, 90),
    ],
)
async def test_an_account_that_may_not_be_used_is_blocked(
    process: Process,
    other: Process,
    kind: FaultKind,
    retry_after: float | None,
    block: BlockReason,
    seconds: float,
) -> None:
    """After one call, with the reason; the metric counts the calls that were spared."""
    await process.told(SummariserFault(kind, retry_after=retry_after))
    for _ in range(3):
        fault = await other.refused()
    assert (fault.block, fault.retry_after) == (block, seconds)
    assert other.recorder.total(metrics.ACCOUNT_BLOCKED, block.value) == 3


@pytest.mark.parametrize("kind", FaultKind)
async def test_what_a_fault_says_about_the_account(
    process: Process, async_store: AsyncStore, kind: FaultKind
) -> None:
    """Trouble counts, an answer ends the row, a call that was not made says nothing."""
    await process.told(OVERLOADED)
    await process.told(SummariserFault(kind))
    standing = await async_store.run(account_calls.look("a"))
    assert (standing.rate is not None) == (kind is FaultKind.RATE_LIMITED)
    assert (standing.block is not None) == (kind in {FaultKind.AUTH, FaultKind.SPEND_LIMIT})
    if kind in {FaultKind.BLOCKED, FaultKind.BUDGET, FaultKind.UNEXPECTED}:
        assert standing.failures == 1
    elif kind in ANSWERS or standing.rate or standing.block:
        assert standing.failures == 0
    else:
        assert standing.failures == 2


async def test_limited_calls_wait_their_turn(process: Process) -> None:
    """One after the other at the rate; how long each waited is recorded."""
    await process.told(RATE_LIMITED)
    order: list[int] = []

    async def call(number: int) -> None:
        await process.admitted()
        order.append(number)

    began = process.now()
    await asyncio.gather(*(call(number) for number in range(4)))
    assert order == [0, 1, 2, 3]
    assert process.now() - began == 8
    assert process.recorder.values[metrics.ACCOUNT_WAITS.name, ()] == [2, 4, 6, 8]


async def test_a_call_that_is_given_up_leaves_the_line(process: Process) -> None:
    """Those behind it go on."""
    await process.told(RATE_LIMITED)
    process.awake.clear()
    calls = [asyncio.ensure_future(process.admitted()) for _ in range(4)]
    await process.asleep.wait()
    calls[0].cancel()
    calls[2].cancel()
    process.awake.set()
    await asyncio.gather(*calls, return_exceptions=True)
    assert [call.cancelled() for call in calls] == [True, False, True, False]


async def test_a_call_without_time_is_refused_at_once(process: Process) -> None:
    """With the time that it would have had to wait; the tenant is told that the provider is not there."""
    await process.told(SummariserFault(FaultKind.RATE_LIMITED, retry_after=30))
    fault = await process.refused(patience=31)
    assert (fault.block, fault.retry_after) == (BlockReason.PROVIDER_DOWN, 32)
    assert process.slept == []
    assert process.recorder.total(metrics.ACCOUNT_BLOCKED, "late") == 1
    await process.admitted(patience=32)


async def test_a_free_account_admits_whatever_the_deadline(process: Process) -> None:
    """A job's own time that is over is not the provider's fault: the call is neither refused nor delayed."""
    await process.admitted(patience=-1)
    assert (process.slept, process.recorder.counts.total()) == ([], 0)


async def test_a_line_that_is_too_long_is_not_joined(process: Process) -> None:
    """What a turn took the last time tells how long those ahead will take."""
    await process.told(RATE_LIMITED)
    for _ in range(2):
        await process.admitted()
    process.awake.clear()
    waiting = [asyncio.ensure_future(process.admitted()) for _ in range(3)]
    await asyncio.sleep(0)
    assert (await process.refused(patience=7.9)).retry_after == 8
    waiting.append(asyncio.ensure_future(process.admitted(patience=8)))
    process.awake.set()
    await asyncio.gather(*waiting)


async def test_a_line_that_takes_too_long_is_left(process: Process) -> None:
    """Nobody waits beyond the time that there is."""
    await process.told(RATE_LIMITED)
    process.awake.clear()
    first = asyncio.ensure_future(process.admitted())
    await process.asleep.wait()
    fault = await process.refused(patience=0.01)
    assert (fault.block, fault.retry_after) == (BlockReason.PROVIDER_DOWN, 1)
    process.awake.set()
    await first


async def test_a_limit_on_how_fast_use_rises_is_kept_as_one(
    process: Process, async_store: AsyncStore
) -> None:
    """The rate rises more slowly after it."""
    rates = []
    for ramp in (False, True):
        account_id = f"ramp {ramp}"
        await process.told(SummariserFault(FaultKind.RATE_LIMITED, ramp=ramp), account_id)
        await process.told(None, account_id)
        rates.append((await async_store.run(account_calls.look(account_id))).rate or 0)
    assert 0.5 < rates[1] < rates[0]


async def test_accounts_never_slow_each_other(process: Process, async_store: AsyncStore) -> None:
    """One tenant's key that is refused, or limited, is nothing to another's."""
    await process.told(SummariserFault(FaultKind.RATE_LIMITED, retry_after=50), "b")
    await process.told(SummariserFault(FaultKind.AUTH), "c")
    waiting = asyncio.ensure_future(process.admitted("b"))
    for _ in range(5):
        await process.admitted("a")
        await process.told(None, "a")
    assert await async_store.run(account_calls.look("a")) == Standing()
    await process.refused("c")
    await waiting
    assert process.slept[0] > 50


@pytest_asyncio.fixture
async def gone() -> AsyncIterator[AsyncStore]:
    """A store that does not answer."""
    store = AsyncStore("redis://127.0.0.1:1", timeout=0.2)
    yield store
    await store.close()


async def test_calls_go_on_without_the_store(gone: AsyncStore, clock: Clock) -> None:
    """It is asked once a second, and nothing is raised."""
    process = Process(gone, clock)
    for second in (1, 2):
        for _ in range(5):
            await process.admitted()
            await process.told()
        assert gone.stats.calls == second
        process.clock.advance(1)
    await process.told(SummariserFault(FaultKind.AUTH))
    await process.admitted()


async def test_few_accounts_are_remembered(process: Process, async_store: AsyncStore) -> None:
    """The one used longest ago is forgotten, and asked about again."""
    for n in range(MAX_ACCOUNTS + 1):
        await process.admitted(f"account {n}")
    asked = async_store.stats.calls
    await process.admitted(f"account {MAX_ACCOUNTS}")
    assert async_store.stats.calls == asked
    await process.admitted("account 0")
    assert async_store.stats.calls == asked + 1


async def test_one_key_s_limit_leaves_the_other_free(
    process: Process, standin: StandIn, store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the SDK: the provider limits one key, whose calls then wait, and the other's go on."""
    standin.control.set(Settings(limits=Limits(requests=4, per=1_000)))
    summarisers = {}
    for name in ("A", "B"):
        monkeypatch.setenv(f"EBBTIDE_TEST_KEY_{name}", f"sk-ant-test-{name}")
        summarisers[name] = Anthropic(base_url=standin.url, reference=f"env:EBBTIDE_TEST_KEY_{name}")

    async def call(name: str) -> None:
        fault = None
        await process.admitted(name)
        try:
            await summarisers[name].map(chunk(), terms())
        except SummariserFault as error:
            fault = error
        await process.told(fault, name)

    for name in "AAAABBA":
        await call(name)
    assert (await process.refused("A", patience=0)).block is BlockReason.PROVIDER_DOWN
    assert process.slept == []
    await call("B")
    assert store.run(account_calls.look("A")).rate is not None
    assert store.run(account_calls.look("B")) == Standing()
    for summariser in summarisers.values():
        await summariser.close()


def test_a_block_is_seen_by_people(store: SyncStore) -> None:
    """Reason, and for how long."""
    store.run(account_calls.told("a", Told.SPEND_LIMIT))
    assert store.run(account_calls.look("a")) == Standing(block=BlockReason.SPEND_LIMIT, block_seconds=300)
