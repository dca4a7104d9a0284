"""The tick: dead workers' jobs come back, poison ends, lost permits are replaced."""

from __future__ import annotations

import pytest

from ebbtide_core import metrics
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls
from ebbtide_worker.maintenance import tick
from ebbtide_worker.shop import Shop
from tests.host.talk import chat
from tests.store.clock import Clock, Database
from tests.store.session import stored_breaker
from tests.worker.conftest import MakeShop
from tests.worker.hostside import FakePermits, HostSide
from tests.worker.test_leases import asked, taken


def sent(shop: Shop) -> int:
    """Return how many permits the shop has sent."""
    assert isinstance(shop.permits, FakePermits)
    return shop.permits.sent


async def next_tick(shop: Shop, database: Database) -> None:
    """Tick as if the lock of the last one had run out."""
    database.delete(*database.keys("*:tick") or ["none"])
    await tick(shop)


async def test_a_waiting_job_gets_a_permit(
    shop: Shop, host: HostSide, clock: Clock, database: Database
) -> None:
    """A job whose permit was lost gets another at the first tick after it has waited for one."""
    host.enqueue(chat(20))
    await next_tick(shop, database)
    assert sent(shop) == 0
    clock.advance(6)

    await next_tick(shop, database)

    assert sent(shop) == 1


async def test_permits_under_way_are_not_counted(
    shop: Shop, host: HostSide, clock: Clock, database: Database
) -> None:
    """Each tick sends anew for what still waits: those sent before may be lost."""
    host.enqueue(chat(20))
    clock.advance(6)
    await next_tick(shop, database)

    await next_tick(shop, database)

    assert sent(shop) == 2


@pytest.mark.parametrize(("running", "permits"), [(0, 3), (1, 2), (3, 1)])
async def test_permits_are_as_many_as_slots_are_free_and_at_least_one(
    make_shop: MakeShop, host: HostSide, clock: Clock, database: Database, running: int, permits: int
) -> None:
    """Five waiting jobs, three slots: the free ones get permits; a busy worker sends one for an idle one."""
    for n in range(5):
        HostSide(host.store, owner=Owner.of("acme", f"chat-{n}")).enqueue(chat(20))
    clock.advance(6)
    shop = make_shop(concurrency=3)
    shop.running = running

    await next_tick(shop, database)

    assert sent(shop) == permits


async def test_one_worker_at_a_time_ticks(
    make_shop: MakeShop, host: HostSide, clock: Clock, database: Database
) -> None:
    """Of two workers' ticks in the same interval one does the work."""
    host.enqueue(chat(20))
    clock.advance(6)
    first, second = make_shop("w1"), make_shop("w2")

    await tick(first)
    await tick(second)

    assert (sent(first), sent(second)) == (1, 0)


async def test_a_dead_workers_job_comes_back_with_a_permit(
    shop: Shop, host: HostSide, clock: Clock, database: Database, recorder: MemoryRecorder
) -> None:
    """A job whose lease ran out is ready again at once, as the next attempt."""
    host.enqueue(chat(20))
    taken(host)
    clock.advance(31)

    await next_tick(shop, database)

    assert sent(shop) == 1
    assert recorder.total(metrics.SWEEPS, "put_back") == 1
    assert taken(host, "w2").attempt == 1


async def test_a_poison_job_ends_as_failure(
    shop: Shop,
    host: HostSide,
    clock: Clock,
    database: Database,
    recorder: MemoryRecorder,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A job that takes three workers down is settled as a failure and does not come back: it is kept as a
    dead letter, which is told.
    """
    host.enqueue(chat(20))
    for _ in range(3):
        assert asked(host, taken(host)) == "go"
        clock.advance(31)
        await next_tick(shop, database)

    assert recorder.total(metrics.JOBS, "failure", "lease_lost_too_often") == 1
    assert recorder.total(metrics.DEAD_LETTERS, "lease_lost_too_often") == 1
    assert "dead letter" in caplog.text
    (letter,) = host.store.run(fleet_calls.dead_letters())
    assert letter.job.owner == host.owner
    assert host.store.run(fleet_calls.depth()).ready == 0
    assert host.turn().claim is None
    assert stored_breaker(database.hgetall(host.owner.state)).failures == 1


async def test_a_job_that_nobody_took_ends_neutral(
    shop: Shop, host: HostSide, clock: Clock, database: Database, recorder: MemoryRecorder
) -> None:
    """A job past its queue age is settled neutral by the tick, so the host may ask again."""
    host.enqueue(chat(20))
    clock.advance(121)

    await next_tick(shop, database)

    assert recorder.total(metrics.JOBS, "neutral", "too_old") == 1
    assert host.turn().claim is None
    assert stored_breaker(database.hgetall(host.owner.state)).failures == 0
