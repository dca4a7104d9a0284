"""A worker that stops hands back what it can't finish: nothing is lost, paid twice, or counted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count

from ebbtide_core import metrics
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store import fleet_calls, tally_calls
from ebbtide_core.store.results import ClaimStage
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import Chunk
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.store.clock import Database
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted
from tests.worker.test_settling import ended


def stopping_in_call(shop: Shop, number: int) -> Callable[[Chunk], Awaitable[None]]:
    """Return what lets calls pass and ends the worker's grace in the one with this number, from 1 on."""
    begun = count(1)

    async def before(_: Chunk) -> None:
        if next(begun) == number:
            shop.stopping.set()
            shop.expired.set()
            await asyncio.Event().wait()

    return before


async def test_a_worker_that_stops_hands_back_what_it_can_not_finish(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """Another worker goes on at once with its memos; nothing counts against the job, session or breaker."""
    host.policy = small_policy(chunk_tokens=300)
    host.enqueue(chat(20))
    stopping = make_shop("w1", map_per_job=1)
    scripted.before = stopping_in_call(stopping, 3)
    await work(stopping)

    view = host.turn()
    assert view.claim is not None
    assert view.claim.stage is ClaimStage.QUEUED
    assert recorder.total(metrics.JOBS, "neutral", "handed_back") == 1
    assert recorder.total(metrics.PERMITS, "passed_on") == 1
    paid = scripted.labels[:2]
    scripted.chunks.clear()

    assert await work(make_shop("w2")) == 1

    assert host.record(1).version == 1
    assert not set(paid) & set(scripted.labels)
    assert ended(host, database) == (1, 0, 0)
    assert host.store.run(tally_calls.tally(host.owner)) == {tally_calls.ENQUEUED: 1}


async def test_jobs_that_are_handed_back_again_and_again_are_not_given_up(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, database: Database
) -> None:
    """A rolling restart of many workers, each met by the same job, is no lost lease."""
    host.enqueue(chat(20))
    for number in range(5):
        stopping = make_shop(f"w{number}", max_attempts=1)
        scripted.before = stopping_in_call(stopping, 1)
        await work(stopping)
    scripted.before = Scripted().before

    assert await work(make_shop("last")) == 1

    assert ended(host, database) == (1, 0, 0)


async def test_a_stopping_worker_tells_what_it_paid_before_it_hands_back(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """The day of the tenant holds the finished calls of both workers, each once."""
    host.policy = small_policy(chunk_tokens=300)
    host.enqueue(chat(20))
    stopping = make_shop("w1", map_per_job=1, ask_again=60.0, renew_every=60.0)
    scripted.before = stopping_in_call(stopping, 3)
    await work(stopping)
    assert host.store.run(fleet_calls.spent("acme")).tokens == 2 * 110

    scripted.before = Scripted().before
    await work(make_shop("w2"))

    calls = len(scripted.chunks) - 1 + len(scripted.merges)
    assert host.store.run(fleet_calls.spent("acme")).tokens == calls * 110
