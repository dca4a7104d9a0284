"""Leases: who loses one stops paying; who keeps one is left alone; the store's short absence harms nobody."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ebbtide_core import metrics
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.record import Usage
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import AsyncStore
from ebbtide_core.store.results import GuardStatus
from ebbtide_core.store.script import Call
from ebbtide_worker.bill import Bill
from ebbtide_worker.lease import Lease
from ebbtide_worker.patience import Patient
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import Chunk
from ebbtide_worker.verdict import LEASE_LOST, STORE_UNAVAILABLE, Stop
from ebbtide_worker.work import work
from tests.host.publisher import guarded
from tests.host.talk import chat
from tests.store.clock import Clock, Database
from tests.worker.conftest import CONFIG, MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted

CHUNKED = small_policy(chunk_tokens=300)


def taken(host: HostSide, worker: str = "w1") -> Job:
    """Take the next job as a worker."""
    job = host.store.run(fleet_calls.take(worker, lease=30, max_queue_age=120, ttl=600)).job
    assert job is not None
    return job


def asked(host: HostSide, job: Job) -> GuardStatus:
    """Ask the session's guard for an attempt."""
    return guarded(host.store, job)


def swept(host: HostSide) -> Any:
    """Sweep the fleet."""
    return host.store.run(fleet_calls.sweep(tick=5, max_queue_age=120, ttl=600))


async def test_a_lost_running_lease_stops_paying(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, clock: Clock
) -> None:
    """A worker that slept through its lease begins no other call, publishes nothing, and settles neutral."""
    host.policy = CHUNKED

    async def sleep_long(_: Chunk) -> None:
        clock.advance(31)
        assert len(swept(host).put_back) == 1

    scripted.before = sleep_long
    host.enqueue(chat(20))

    await work(make_shop(map_per_job=1, renew_every=60, tenant_cap=1, max_queue_age=1))

    assert len(scripted.chunks) == 1
    assert recorder.total(metrics.JOBS, "neutral", "lease_lost") == 1
    assert host.turn().newest.number == 0


async def test_a_lease_lost_during_a_call_cancels_the_call(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, clock: Clock
) -> None:
    """The renewal notices on its own, while a call is under way."""

    async def wait(_: Chunk) -> None:
        clock.advance(31)
        swept(host)
        taken(host, "w2")
        await asyncio.Event().wait()

    scripted.before = wait
    host.enqueue(chat(20))

    await work(make_shop())

    assert recorder.total(metrics.JOBS, "neutral", "lease_lost") == 1
    assert scripted.running == 0


async def test_a_session_that_moves_on_stops_its_job(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """Between chunks the session's guard is asked: after a reset no other call begins."""
    host.policy = CHUNKED

    async def reset(_: Chunk) -> None:
        host.store.run(session_calls.reset(host.owner, fresh_incarnation="life-2", state_ttl=600))

    scripted.before = reset
    host.enqueue(chat(20))

    await work(make_shop(map_per_job=1, renew_every=60))

    assert len(scripted.chunks) == 1
    assert recorder.total(metrics.JOBS, "neutral", "fenced") == 1


async def test_the_next_attempt_finishes_with_the_memos_of_the_one_that_died(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, clock: Clock
) -> None:
    """A worker dies in a job; the job comes back after its lease, and no chunk is paid for twice."""
    host.policy = CHUNKED
    third = asyncio.Event()

    async def die_at_the_third(_: Chunk) -> None:
        if len(scripted.chunks) == 3:
            third.set()
            await asyncio.Event().wait()

    scripted.before = die_at_the_third
    host.enqueue(chat(20))
    dying = asyncio.create_task(work(make_shop(map_per_job=1)))
    await third.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    paid = scripted.labels[:2]
    scripted.chunks.clear()
    scripted.before = Scripted().before
    clock.advance(31)
    assert [job.attempt for job in swept(host).put_back] == [1]

    await work(make_shop("w2"))

    assert host.record(1).version == 1
    assert not set(paid) & set(scripted.labels)


async def test_an_attempt_that_was_overtaken_is_not_heard(
    host: HostSide, clock: Clock, database: Database
) -> None:
    """A late failure of attempt 0 leaves attempt 1 its claim."""
    host.enqueue(chat(20))
    first = taken(host)
    assert asked(host, first) is GuardStatus.GO
    clock.advance(31)
    swept(host)
    second = taken(host, "w2")
    assert asked(host, second) is GuardStatus.GO

    heard = host.store.run(
        session_calls.settle(
            first.owner,
            incarnation=first.incarnation,
            generation=first.generation,
            job_id=first.job_id,
            epoch=first.epoch,
            attempt=first.attempt,
            outcome=Outcome.FAILURE,
            breaker_failures=3,
            state_ttl=600,
        )
    )

    assert not heard
    assert host.turn().claim is not None


def unpaid() -> Bill:
    """The bill of an attempt that pays nothing."""
    return Bill(lambda: (Usage(), 0.0))


async def test_a_renewal_tells_what_was_paid_since_the_last_one(
    host: HostSide, async_store: AsyncStore
) -> None:
    """All kinds of tokens, and dollars; one that gets no answer tells it again, so that none is forgotten."""
    kinds = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, calls=1)
    paid = [(kinds, 0.5)]
    flaky = Flaky(async_store)
    host.enqueue(chat(20))
    lease = Lease(flaky, taken(host), CONFIG, Bill(lambda: paid[0]))
    for _ in range(2):
        await lease.renew()
        assert host.store.run(fleet_calls.spent("acme")) == fleet_calls.Spent(10, 0.5)
    paid[0] = (Usage(input_tokens=21, calls=2), 0.75)
    flaky.away = 1
    with pytest.raises(StoreUnavailable):
        await lease.renew()
    await lease.renew()
    assert host.store.run(fleet_calls.spent("acme")) == fleet_calls.Spent(21, 0.75)


class Flaky:
    """A store that is away for the next calls."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self.away = 0
        self.calls = 0

    async def run(self, call: Call[Any]) -> Any:
        """Run the call, or fail."""
        self.calls += 1
        if self.away:
            self.away -= 1
            raise StoreUnavailable("away")
        return await self._store.run(call)


class HandClock:
    """A monotonic clock moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def flaky(async_store: AsyncStore) -> Flaky:
    """A store that can be away."""
    return Flaky(async_store)


async def test_a_short_absence_of_the_store_ends_nothing(flaky: Flaky, host: HostSide) -> None:
    """A renewal that can't be told is not a lost lease while the lease may still be running."""
    host.enqueue(chat(20))
    now = HandClock()
    lease = Lease(flaky, taken(host), CONFIG, unpaid(), now)
    await lease.begin()
    flaky.away, now.now = 1, 20.0

    await lease.confirm()
    assert flaky.away == 0, "the store was asked, and did not answer"
    await lease.confirm()


async def test_a_long_absence_of_the_store_is_a_lost_lease(flaky: Flaky, host: HostSide) -> None:
    """Once the lease must have run out unrenewed, nothing more is paid."""
    host.enqueue(chat(20))
    now = HandClock()
    lease = Lease(flaky, taken(host), CONFIG, unpaid(), now)
    await lease.begin()
    flaky.away, now.now = 1, 31.0

    with pytest.raises(Stop) as stop:
        await lease.confirm()
    assert stop.value.verdict == STORE_UNAVAILABLE


async def test_a_recent_answer_is_not_asked_for_again(flaky: Flaky, host: HostSide) -> None:
    """Calls that begin together share one question to the store."""
    host.enqueue(chat(20))
    now = HandClock()
    lease = Lease(flaky, taken(host), replace(CONFIG, ask_again=1.0), unpaid(), now)
    await lease.begin()
    before = flaky.calls
    await lease.confirm()
    assert flaky.calls == before
    now.now = 1.0

    await asyncio.gather(*(lease.confirm() for _ in range(8)))

    assert flaky.calls == before + 2


async def test_a_lost_lease_stays_lost(flaky: Flaky, host: HostSide, clock: Clock) -> None:
    """After the first Stop each later question gets the same answer, and `keep` returns it."""
    host.enqueue(chat(20))
    lease = Lease(flaky, taken(host), CONFIG, unpaid())
    clock.advance(31)
    swept(host)
    for _ in range(2):
        with pytest.raises(Stop) as stop:
            await lease.confirm()
        assert stop.value.verdict == LEASE_LOST

    assert await lease.keep() == LEASE_LOST


async def test_patience_bears_an_outage_and_then_gives_up(flaky: Flaky) -> None:
    """A call is tried again while the store is away for less than the given time."""
    flaky.away = 2
    assert (await Patient(flaky, 30).run(fleet_calls.depth())).ready == 0

    flaky.away = 1_000
    with pytest.raises(StoreUnavailable):
        await Patient(flaky, 0.0).run(fleet_calls.depth())


async def test_an_outage_during_a_job_is_borne(
    shop: Shop, flaky: Flaky, host: HostSide, scripted: Scripted
) -> None:
    """The store goes away while a call runs and comes back: the record is published all the same."""

    async def outage(_: Chunk) -> None:
        flaky.away = 2

    scripted.before = outage
    shop.store = flaky
    host.enqueue(chat(20))

    await work(shop)

    assert host.record(1).version == 1
