"""One call until it is answered or given up: slots, waits, hops, accounts, what is counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest

from ebbtide_core import metrics
from ebbtide_core.contract.record import Usage
from ebbtide_core.economy.rates import Rates
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.summary.model import Summary
from ebbtide_worker.calls import Answer, Calls, Halted, Piece, TooMuch
from ebbtide_worker.cancelling import cancelled
from ebbtide_worker.routes import Route
from ebbtide_worker.slots import Slots
from ebbtide_worker.summarisers.base import FaultKind, Partial, Summariser, SummariserFault
from ebbtide_worker.verdict import DEADLINE, LEASE_LOST, Stop
from tests.worker.paying import Admitting, Steady, hop_of, new_calls, route_of
from tests.worker.scripted import Scripted

PAID = Usage(input_tokens=1_000, output_tokens=100, calls=1)
GOOD = Partial(Summary(session_intent="done"), PAID)
PIECE = Piece(size=10)


def fault(kind: FaultKind, **more: object) -> SummariserFault:
    """A fault of a call that was made."""
    return SummariserFault(kind, usage=Usage(calls=1), **more)  # type: ignore[arg-type]


@dataclass
class Play:
    """Calls that end as told, one after the other, and then well. `asked` names who was called."""

    ends: list[SummariserFault | Callable[[], Awaitable[None]]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def __call__(self, summariser: Summariser) -> Partial:
        """Make the next call."""
        self.asked.append(summariser.name)
        await asyncio.sleep(0)
        if self.ends:
            end = self.ends.pop(0)
            if isinstance(end, SummariserFault):
                raise end
            await end()
        return GOOD


def two() -> Route:
    """A route of two hops of different accounts."""
    return route_of(Scripted(name="one"), Scripted(name="two"))


ONE = Route(two().hops[:1])


async def hang() -> None:
    """Never answer."""
    await asyncio.Event().wait()


@pytest.mark.parametrize("kind", [FaultKind.OVERLOADED, FaultKind.TIMEOUT, FaultKind.SCHEMA])
async def test_a_fault_that_passes_costs_one_more_call(kind: FaultKind) -> None:
    """The call is made again on the same hop; both are counted, and told of to the account."""
    accounts, recorder, play = Admitting(), MemoryRecorder(), Play([fault(kind)])
    calls = new_calls(accounts, recorder=recorder)

    answer = await calls.run(two(), play, PIECE)

    assert answer == Answer(GOOD, 0)
    assert play.asked == ["one", "one"]
    assert accounts.asked == ["account 0", "account 0"]
    assert accounts.told_of == [("account 0", kind.value), ("account 0", "ok")]
    assert recorder.total(metrics.SUMMARISER_CALLS, kind.value) == 1
    assert recorder.total(metrics.SUMMARISER_CALLS, "ok") == 1
    assert recorder.total(metrics.SUMMARISER_RETRIES, "again") == 1
    assert calls.usage.calls == 2


async def test_a_fault_that_lasts_is_raised_as_it_came() -> None:
    """After its tries, with the last call's own fault."""
    last = fault(FaultKind.OVERLOADED, retry_after=0.0)
    play = Play([*(fault(FaultKind.OVERLOADED) for _ in range(3)), last, fault(FaultKind.SCHEMA)])
    recorder = MemoryRecorder()

    with pytest.raises(SummariserFault) as caught:
        await new_calls(recorder=recorder).run(ONE, play, PIECE)

    assert caught.value is last
    assert caught.value.__context__ is None
    assert len(play.asked) == 4
    assert recorder.total(metrics.SUMMARISER_RETRIES, "give") == 1


async def test_the_next_hop_serves_what_the_first_refuses() -> None:
    """The answer says who gave it; the tries of a hop are its own."""
    ends = [fault(FaultKind.REFUSED), *(fault(FaultKind.OVERLOADED) for _ in range(3))]
    play = Play(list(ends))

    answer = await new_calls().run(two(), play, PIECE)

    assert answer == Answer(GOOD, 1)
    assert play.asked == ["one", *["two"] * 4]


async def test_a_blocked_account_is_not_called() -> None:
    """Its hop is passed over, and nothing is told of a call that was not made."""
    accounts, play = Admitting({"account 0": SummariserFault(FaultKind.BLOCKED)}), Play()

    assert await new_calls(accounts).run(two(), play, PIECE) == Answer(GOOD, 1)
    assert play.asked == ["two"]
    assert accounts.told_of == [("account 1", "ok")]

    with pytest.raises(SummariserFault) as caught:
        await new_calls(accounts).run(ONE, play, PIECE)
    assert caught.value.kind is FaultKind.BLOCKED


async def test_a_key_that_is_not_there_says_nothing_about_the_account() -> None:
    """No call was made, and other workers may have the key."""
    accounts, play = Admitting(), Play([SummariserFault(FaultKind.AUTH, "no key")])
    assert (await new_calls(accounts).run(two(), play, PIECE)).hop == 1
    assert accounts.told_of == [("account 1", "ok")]


async def test_a_summariser_without_a_provider_has_no_account() -> None:
    """Nobody is asked, and nobody told."""
    accounts = Admitting()
    await new_calls(accounts).run(Route((hop_of(Scripted(), account=""),)), Play(), PIECE)
    assert (accounts.asked, accounts.told_of) == ([], [])


async def test_what_is_too_much_comes_back_to_be_made_smaller() -> None:
    """With the hop that is to do it; a piece that can't be smaller ends."""
    play = Play([fault(FaultKind.REFUSED), fault(FaultKind.TRUNCATED)])
    with pytest.raises(TooMuch) as caught:
        await new_calls().run(two(), play, replace(PIECE, shrinkable=True))
    assert (caught.value.hop, caught.value.fault.kind) == (1, FaultKind.TRUNCATED)

    with pytest.raises(SummariserFault):
        await new_calls().run(ONE, Play([fault(FaultKind.TRUNCATED)]), PIECE)


async def test_a_hop_that_can_not_hold_the_piece_is_passed_over() -> None:
    """Only a wider hop serves what was too long, and none serves what fills more than half of it."""
    small, wide = hop_of(Scripted(name="small"), window=1_000), hop_of(Scripted(name="wide"), window=9_000)
    route = Route((replace(small, window=2_000), small, wide))
    play = Play([fault(FaultKind.TOO_LONG)])
    assert (await new_calls().run(route, play, PIECE)).hop == 2
    play = Play([fault(FaultKind.REFUSED)])
    assert (await new_calls().run(route, play, Piece(size=800))).hop == 2
    with pytest.raises(SummariserFault):
        await new_calls().run(route, Play([fault(FaultKind.REFUSED)]), Piece(size=4_501))


async def until(test: Callable[[], bool]) -> None:
    """Let the loop run until something holds."""
    async with asyncio.timeout(20):
        while not test():
            await asyncio.sleep(0)


async def test_a_wait_for_the_next_try_holds_no_slot() -> None:
    """The only slot of the process serves another call meanwhile, of the same job or of another."""
    slots, recorder = Slots(1), MemoryRecorder()
    calls = new_calls(slots=slots, side_by_side=1, recorder=recorder)
    waiting = asyncio.create_task(
        calls.run(ONE, Play([fault(FaultKind.RATE_LIMITED, retry_after=30.0)]), PIECE)
    )
    await until(lambda: recorder.total(metrics.SUMMARISER_RETRIES, "again") == 1)

    assert (await calls.run(ONE, Play(), PIECE)).partial is GOOD
    assert (await new_calls(slots=slots).run(ONE, Play(), PIECE)).partial is GOOD
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_wait_for_an_account_holds_no_slot() -> None:
    """One account that is limited slows no call of another."""

    class Slow(Admitting):
        async def admitted(self, account_id: str, *, deadline: float) -> None:
            await super().admitted(account_id, deadline=deadline)
            await hang()

    slots, slow = Slots(1), Slow()
    waiting = asyncio.create_task(new_calls(slow, slots=slots).run(ONE, Play(), PIECE))
    await until(lambda: bool(slow.asked))
    assert (await new_calls(slots=slots).run(ONE, Play(), PIECE)).partial is GOOD
    waiting.cancel()


async def test_a_halt_ends_what_waits_and_lets_what_runs_end() -> None:
    """Waits for a next try and new calls end at once; a call under way is answered."""
    recorder = MemoryRecorder()
    calls = new_calls(recorder=recorder)
    release = asyncio.Event()

    async def held() -> None:
        await release.wait()

    running = Play([held])
    under_way = asyncio.create_task(calls.run(ONE, running, PIECE))
    limited = Play([fault(FaultKind.RATE_LIMITED, retry_after=30.0)])
    waiting = asyncio.create_task(calls.run(ONE, limited, PIECE))
    await until(lambda: recorder.total(metrics.SUMMARISER_RETRIES, "again") == 1 and bool(running.asked))

    calls.halt()

    with pytest.raises(Halted):
        await waiting
    with pytest.raises(Halted):
        await calls.run(ONE, limited, PIECE)
    release.set()
    assert (await under_way).partial is GOOD
    assert limited.asked == ["one"]


async def test_a_call_that_hangs_ends_at_its_own_deadline() -> None:
    """As a time-out of which nobody knows whether it is paid; then it is made once more."""
    calls = new_calls(each=0.01)
    play = Play([hang])
    assert (await calls.run(ONE, play, PIECE)).partial is GOOD
    assert (len(play.asked), calls.uncertain, calls.usage.calls) == (2, 1, 2)

    with pytest.raises(SummariserFault) as caught:
        await new_calls(each=0.01).run(ONE, Play([hang, hang]), PIECE)
    assert (caught.value.kind, caught.value.uncertain) == (FaultKind.TIMEOUT, True)


async def test_a_call_that_hangs_until_the_job_s_time_is_over_is_a_time_out() -> None:
    """Typed as the provider's, not tried again, and the account, which had less than its time, not blamed."""
    play, accounts = Play([hang]), Admitting()
    with pytest.raises(SummariserFault) as caught:
        await new_calls(accounts, seconds=0.01).run(two(), play, PIECE)
    assert caught.value.kind is FaultKind.TIMEOUT
    assert (play.asked, accounts.told_of) == (["one"], [])

    with pytest.raises(SummariserFault):
        await new_calls(accounts, each=0.01).run(ONE, Play([hang, hang]), PIECE)
    assert accounts.told_of == [("account 0", "timeout")] * 2


async def test_a_call_that_is_cut_off_is_counted() -> None:
    """The attempt ends while the provider is at work: nobody knows whether that is paid."""
    play, recorder = Play([hang]), MemoryRecorder()
    calls = new_calls(recorder=recorder)
    under_way = asyncio.create_task(calls.run(ONE, play, PIECE))
    await until(lambda: bool(play.asked))

    await cancelled(under_way)

    assert (calls.usage.calls, calls.uncertain) == (1, 1)
    assert recorder.total(metrics.SUMMARISER_CALLS, "cancelled") == 1


async def test_no_call_is_begun_when_time_is_over_or_the_lease_lost() -> None:
    """Nothing more is paid."""

    class Lost(Steady):
        async def confirm(self) -> None:
            raise Stop(LEASE_LOST)

    play = Play()
    for calls, verdict in ((new_calls(seconds=0.0), DEADLINE), (new_calls(lease=Lost()), LEASE_LOST)):
        with pytest.raises(Stop) as caught:
            await calls.run(ONE, play, PIECE)
        assert caught.value.verdict == verdict
    assert play.asked == []


async def test_each_call_is_priced_by_the_rates_of_its_hop() -> None:
    """Failed calls too, as far as their usage is told; a long prompt at the price of long ones."""
    long = Rates(10.0, 0.0, 0.0, 0.0)
    rates = Rates(2.0, 10.0, 2.5, 0.2, above=2_000, long=long)
    dear = Route((replace(ONE.first, rates=rates),))
    failed = Usage(input_tokens=1_000, cache_read_tokens=500, cache_write_tokens=100, calls=1)
    huge = Usage(input_tokens=3_000, calls=1)
    ends = [
        SummariserFault(kind, usage=usage)
        for kind, usage in ((FaultKind.SCHEMA, failed), (FaultKind.EMPTY, huge))
    ]
    calls: Calls = new_calls()

    await calls.run(dear, Play(list(ends)), PIECE)

    told = (1_000 * 2.0 + 500 * 0.2 + 100 * 2.5) + 3_000 * 10.0 + (1_000 * 2.0 + 100 * 10.0)
    assert calls.dollars == pytest.approx(told / 1_000_000)
    assert calls.usage == Usage(
        input_tokens=5_000, output_tokens=100, cache_read_tokens=500, cache_write_tokens=100, calls=3
    )
    await calls.run(ONE, Play(), PIECE)
    assert calls.dollars == pytest.approx(told / 1_000_000)


async def test_no_more_calls_run_side_by_side_than_both_bounds_allow() -> None:
    """Those of the job, and those of the process."""
    running: Counter[str] = Counter()

    async def counted() -> None:
        running["now"] += 1
        running["most"] = max(running["most"], running["now"])
        await asyncio.sleep(0.001)
        running["now"] -= 1

    calls = new_calls(slots=Slots(3), side_by_side=2)
    plays = [Play([counted]) for _ in range(6)]
    await asyncio.gather(*(calls.run(ONE, play, PIECE) for play in plays))
    assert running["most"] == 2
