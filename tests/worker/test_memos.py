"""What was paid once is not paid again, and a bad partial does not poison the retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ebbtide_core import metrics
from ebbtide_core.contract.record import ChunkStatus
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import Chunk, FaultKind, Partial, SummariserFault
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.store.clock import Database
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted

CHUNKED = small_policy(chunk_tokens=300)


async def test_a_repeated_job_pays_only_what_failed(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """After a failed call, the next attempt at the same messages finds the memos of all the others."""
    host.policy = CHUNKED
    failed: list[str] = []

    async def fail_last(chunk: Chunk) -> None:
        if len(scripted.chunks) == 4 and not failed:
            failed.append(chunk.label)
            raise SummariserFault(FaultKind.BAD_REQUEST)

    scripted.before = fail_last
    shop = make_shop(map_per_job=1)
    host.enqueue(chat(20))
    await work(shop)
    done = set(scripted.labels) - set(failed)
    scripted.chunks.clear()

    host.enqueue(chat(20))
    await work(shop)

    assert host.record(1).job_id
    assert failed[0] in scripted.labels
    assert done
    assert not done & set(scripted.labels)
    statuses = [c.status for c in host.record(1).coverage]
    assert statuses.count(ChunkStatus.MEMOISED) == len(done)
    assert recorder.total(metrics.CHUNKS, "memoised") == len(done)


async def test_calls_under_way_end_and_are_memoised_when_another_fails(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, database: Database
) -> None:
    """A failure begins no more calls, but what is already being paid for is kept."""
    host.policy = CHUNKED
    both = asyncio.Event()

    async def two_at_once(chunk: Chunk) -> None:
        if len(scripted.chunks) == 2:
            both.set()
            raise SummariserFault(FaultKind.BAD_REQUEST)
        await both.wait()

    scripted.before = two_at_once
    host.enqueue(chat(20))
    await work(make_shop(map_per_job=2))

    assert len(scripted.chunks) == 2
    assert len(database.keys("*:memo:*")) == 1


async def test_a_rejected_summary_deletes_the_memos_it_used(
    shop: Shop, host: HostSide, scripted: Scripted, database: Database
) -> None:
    """A summary that fails validation leaves no memo, so the next attempt asks the model anew."""
    order = host.order(chat(20))
    tight = order.figures.model_copy(update={"tail": order.figures.projected})
    host.enqueue(chat(20), figures=tight)
    await work(shop)
    assert database.keys("*:memo:*") == []
    asked = len(scripted.chunks)

    host.enqueue(chat(20))
    await work(shop)

    assert len(scripted.chunks) > asked
    assert host.record(1).version == 1


@pytest.mark.parametrize(
    ("kind", "kept"),
    [(FaultKind.AUTH, True), (FaultKind.UNAVAILABLE, True), (FaultKind.REFUSED, False)],
)
async def test_a_merge_that_nobody_looked_at_keeps_the_memos(
    shop: Shop,
    host: HostSide,
    scripted: Scripted,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    kind: FaultKind,
    kept: bool,
) -> None:
    """A key that is refused, as an outage, says nothing about the notes that were to be merged."""

    async def fail(*_: object) -> Partial:
        raise SummariserFault(kind)

    host.policy = CHUNKED
    with monkeypatch.context() as patched:
        patched.setattr(scripted, "merge", fail)
        host.enqueue(chat(20))
        await work(shop)
    done = len(scripted.chunks)
    assert len(database.keys("*:memo:*")) == (done if kept else 0)

    host.enqueue(chat(20))
    await work(shop)

    assert host.record(1).version == 1
    assert len(scripted.chunks) == (done if kept else 2 * done)


async def test_a_longer_job_meets_the_memos_of_a_shorter_one(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """Chunk borders are stable: a job over the same messages and more pays only for what is new and the last
    chunk.
    """
    host.policy = CHUNKED
    host.window = 8_000
    shop = make_shop()
    host.enqueue(chat(20))
    await work(shop)
    first = list(scripted.labels)
    scripted.chunks.clear()

    HostSide(host.store, policy=CHUNKED, window=8_000, owner=Owner.of("acme", "copy")).enqueue(chat(30))
    await work(shop)

    assert not set(first[:-1]) & set(scripted.labels)


async def test_memos_do_not_cross_tenants(make_shop: MakeShop, host: HostSide, scripted: Scripted) -> None:
    """Another tenant with the very same messages pays for itself (law 13)."""
    host.enqueue(chat(20))
    await work(make_shop())
    asked = len(scripted.chunks)

    HostSide(host.store, owner=Owner.of("rival", "chat-42")).enqueue(chat(20))
    await work(make_shop())

    assert len(scripted.chunks) == 2 * asked


async def test_another_fingerprint_does_not_use_the_memos(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """Changed prompts or models make new partials."""
    host.enqueue(chat(20))
    await work(make_shop())
    asked = len(scripted.chunks)
    scripted.fingerprint = "scripted/2"

    HostSide(host.store, owner=Owner.of("acme", "second")).enqueue(chat(20))
    await work(make_shop())

    assert len(scripted.chunks) == 2 * asked


async def test_a_damaged_memo_is_replaced(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, database: Database
) -> None:
    """A memo that can't be read is paid for once more and then serves again."""
    host.enqueue(chat(20))
    await work(make_shop())
    (memo,) = database.keys("*:memo:*")
    good = database.get(memo)
    database.set(memo, b"broken", keepttl=True)

    HostSide(host.store, owner=Owner.of("acme", "second")).enqueue(chat(20))
    await work(make_shop())

    assert len(scripted.chunks) == 2
    assert database.get(memo) == good


def gathering(scripted: Scripted, number: int) -> Callable[[Chunk], Awaitable[None]]:
    """Return what holds calls until so many run side by side, and then a little longer."""
    reached = asyncio.Event()

    async def gather(_: Chunk) -> None:
        if scripted.running == number:
            reached.set()
        await asyncio.wait_for(reached.wait(), 10)
        for _again in range(20):
            await asyncio.sleep(0.001)

    return gather


async def test_calls_are_bounded_per_job(make_shop: MakeShop, host: HostSide, scripted: Scripted) -> None:
    """No more calls of one job run side by side than its limit, and as many do."""
    host.policy = CHUNKED
    scripted.before = gathering(scripted, 3)
    host.enqueue(chat(20))

    await work(make_shop(map_per_job=3))

    assert len(scripted.chunks) > 4
    assert scripted.most_running == 3


async def test_calls_are_bounded_per_process(make_shop: MakeShop, host: HostSide, scripted: Scripted) -> None:
    """No more calls of all jobs run side by side than the process's limit, and as many do."""
    scripted.before = gathering(scripted, 4)
    for n in range(2):
        owner = Owner.of(f"tenant-{n}", "chat")
        HostSide(host.store, owner=owner, policy=CHUNKED).enqueue(chat(20))
    shop = make_shop(map_per_job=3, map_per_process=4)

    assert list(await asyncio.gather(work(shop), work(shop))) == [1, 1]
    assert scripted.most_running == 4
