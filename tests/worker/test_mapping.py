"""Jobs whose calls fail: made smaller, made by the next hop, read by rules; what is paid, kept and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from ebbtide_core import metrics
from ebbtide_core.contract.record import ChunkStatus
from ebbtide_core.contract.tenant import Hop, TenantPolicy
from ebbtide_core.economy.rates import Rates
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import tenant_calls
from ebbtide_core.store.forget import forget
from ebbtide_core.summary.model import Summary
from ebbtide_worker.mapper import CONTENT, Mapped, maker
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import Chunk, FaultKind, Partial, SummariserFault
from ebbtide_worker.summarisers.registry import Summarisers
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.store.clock import Database
from tests.worker.conftest import CONFIG, MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import PRICE, Scripted, shown

CHUNKED = small_policy(chunk_tokens=300, summary_max_tokens=1_000)


@pytest.fixture
def second() -> Scripted:
    """The summariser of the route's second hop, with a larger window."""
    return Scripted(name="second", fingerprint="second/1", window=200_000)


@pytest.fixture
def routed(make_shop: MakeShop, host: HostSide, scripted: Scripted, second: Scripted) -> Shop:
    """A shop whose tenant has two hops, each with its price."""
    hops = (
        Hop(summariser="scripted", rates=Rates(1.0, 10.0, 0.0, 0.0)),
        Hop(summariser="second", credentials="env:SECOND", rates=Rates(2.0, 20.0, 0.0, 0.0)),
    )
    host.store.run(tenant_calls.policy_put(host.owner.tenant, TenantPolicy(route=hops)))
    host.policy = CHUNKED
    shop = make_shop()
    shop.summarisers = Summarisers(CONFIG, {"scripted": lambda _: scripted, "second": lambda _: second})
    return shop


def failing(kind: FaultKind, which: Callable[[Chunk], bool]) -> Callable[[Chunk], Awaitable[None]]:
    """Return what makes calls about some chunks fail."""

    async def fail(chunk: Chunk) -> None:
        if which(chunk):
            raise SummariserFault(kind, usage=PRICE)

    return fail


def about(index: int) -> Callable[[Chunk], bool]:
    """Return what picks the calls that show a message."""
    return lambda chunk: any(message.index == index for message in chunk.messages)


def always(_: Chunk) -> bool:
    """Pick every call."""
    return True


async def test_a_chunk_that_is_too_long_is_made_in_pieces(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """Each message is shown in the end, in order; the record covers all, and its memo serves the next job."""
    host.policy = CHUNKED

    async def small_only(chunk: Chunk) -> None:
        if chunk.tokens > 200:
            raise SummariserFault(FaultKind.TOO_LONG)

    scripted.before = small_only
    order = host.enqueue(chat(20))
    await work(make_shop())

    record = host.record(1)
    saw = shown(record.summary)
    assert saw == sorted(set(saw))
    accepted = [chunk for chunk in scripted.chunks if chunk.tokens <= 200]
    assert sorted(m.index for chunk in accepted for m in chunk.messages) == list(
        range(order.cut.position.count)
    )
    assert {c.status for c in record.coverage} == {ChunkStatus.SUMMARISED}
    assert not record.degraded
    assert any("part 1 of 2" in label for label in scripted.labels)
    assert recorder.total(metrics.SUMMARISER_RETRIES, "shrink") == len(scripted.chunks) - len(accepted)

    asked = len(scripted.chunks)
    HostSide(host.store, owner=Owner.of("acme", "copy"), policy=CHUNKED).enqueue(chat(20))
    await work(make_shop())
    assert len(scripted.chunks) == asked


async def test_pieces_that_were_made_are_not_paid_again(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """A job that ends between two pieces leaves the first one's memo to the next."""
    host.policy = small_policy(chunk_tokens=100_000, summary_max_tokens=1_000)
    failed: list[str] = []

    async def fail(chunk: Chunk) -> None:
        if "part" not in chunk.label:
            raise SummariserFault(FaultKind.TRUNCATED)
        if "part 2" in chunk.label and not failed:
            failed.append(chunk.label)
            raise SummariserFault(FaultKind.BAD_REQUEST)

    scripted.before = fail
    for _ in range(2):
        host.enqueue(chat(20))
        await work(make_shop())

    assert host.record(1).version == 1
    times = Counter(scripted.labels)
    assert {label: n for label, n in times.items() if "part" in label and n > 1} == {failed[0]: 2}


async def test_forgetting_a_session_finds_the_memos_of_pieces(
    routed: Shop, host: HostSide, scripted: Scripted, second: Scripted, database: Database
) -> None:
    """Those of all hops, too: nothing that its messages said is left."""
    scripted.before = failing(FaultKind.REFUSED, about(9))

    async def small_only(chunk: Chunk) -> None:
        if chunk.tokens > 200:
            raise SummariserFault(FaultKind.TOO_LONG)

    second.before = small_only
    host.enqueue(chat(20))
    await work(routed)
    assert any("part" in label for label in second.labels)
    assert len(database.keys("*:memo:*")) > len(host.record(1).coverage)

    forget(host.store, host.owner, shut=600.0)

    assert [key for key in database.keys("*:memo:*") if database.strlen(key)] == []


async def test_what_can_not_be_small_enough_ends(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """After two halvings; as a failure of its kind, and no other piece is begun."""
    host.policy = small_policy(chunk_tokens=100_000)
    scripted.before = failing(FaultKind.TOO_LARGE, always)
    host.enqueue(chat(20))
    await work(make_shop())
    assert recorder.total(metrics.JOBS, "failure", "too_large") == 1
    assert len(scripted.chunks) == 3


async def test_a_chunk_that_one_hop_refuses_is_made_by_the_next(
    routed: Shop, host: HostSide, scripted: Scripted, second: Scripted
) -> None:
    """Only that chunk; the record names who made most of it, and costs what each hop's calls cost."""
    scripted.before = failing(FaultKind.REFUSED, about(9))
    host.enqueue(chat(20))
    await work(routed)

    record = host.record(1)
    assert len(second.chunks) == 1
    assert len(scripted.chunks) > 4
    assert record.summariser.name == "scripted"
    assert not record.degraded
    first = len(scripted.chunks) + len(scripted.merges)
    assert record.usage.calls == first + 1
    assert record.cost == pytest.approx((first * 200 + 400) / 1_000_000)


async def test_a_hop_s_memo_is_found_by_the_jobs_after_it(
    routed: Shop, host: HostSide, scripted: Scripted, second: Scripted
) -> None:
    """What the second hop made is not asked of the first one again; only its own trouble is."""
    scripted.before = failing(FaultKind.REFUSED, about(9))
    host.enqueue(chat(20))
    await work(routed)
    asked = len(scripted.chunks), len(second.chunks)

    HostSide(host.store, owner=Owner.of("acme", "copy"), policy=CHUNKED).enqueue(chat(20))
    await work(routed)

    assert (len(scripted.chunks), len(second.chunks)) == asked


async def test_an_account_without_a_key_is_passed_over(
    routed: Shop,
    host: HostSide,
    scripted: Scripted,
    second: Scripted,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Chunks and merges go to the next account; the record is its."""
    calls = Counter[str]()

    async def refused(*_: object) -> Partial:
        calls["refused"] += 1
        raise SummariserFault(FaultKind.AUTH)

    for name in ("map", "merge"):
        monkeypatch.setattr(scripted, name, refused)
    host.enqueue(chat(20))
    await work(routed)
    record = host.record(1)
    assert record.summariser.name == "second"
    assert record.usage.calls == len(second.chunks) + len(second.merges)
    assert calls["refused"] == record.usage.calls


async def test_a_wanted_summariser_is_the_only_one_asked(
    routed: Shop, host: HostSide, scripted: Scripted, second: Scripted
) -> None:
    """A session's policy may name one of the route's."""
    host.policy = small_policy(chunk_tokens=300, summariser="second")
    host.enqueue(chat(20))
    await work(routed)
    assert host.record(1).summariser.name == "second"
    assert (scripted.chunks, scripted.merges) == ([], [])


@pytest.mark.parametrize("kind", sorted(CONTENT))
async def test_one_chunk_in_four_may_be_read_by_rules(
    routed: Shop,
    host: HostSide,
    scripted: Scripted,
    second: Scripted,
    recorder: MemoryRecorder,
    kind: FaultKind,
) -> None:
    """When no hop can say anything about it: the record says so, and nothing of it is missing."""
    scripted.before = second.before = failing(kind, about(9))
    order = host.enqueue(chat(20))
    await work(routed)

    record = host.record(1)
    assert record.degraded
    [extracted] = [c for c in record.coverage if c.status is ChunkStatus.EXTRACTED]
    assert extracted.first <= 9 < extracted.stop
    edges = [(c.first, c.stop) for c in record.coverage]
    assert [first for first, _ in edges] == [0, *(stop for _, stop in edges[:-1])]
    assert edges[-1][1] == order.cut.position.count
    assert record.summariser.name == "scripted"
    assert recorder.total(metrics.CHUNKS, "extracted") == 1
    assert recorder.total(metrics.JOBS, "success") == 1


@pytest.mark.parametrize("kind", sorted(set(FaultKind) - CONTENT - {FaultKind.RATE_LIMITED}))
async def test_only_content_is_read_by_rules(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, kind: FaultKind
) -> None:
    """Trouble of provider, account or request ends the job, however few chunks meet it."""
    host.policy = CHUNKED
    scripted.before = failing(kind, about(9))
    host.enqueue(chat(20))
    await work(make_shop())
    assert recorder.total(metrics.JOBS, "success") == 0
    assert recorder.total(metrics.JOBS) == 1
    assert recorder.total(metrics.CHUNKS, "extracted") == 0


async def test_what_ends_a_job_is_no_chunk_that_it_could_bear(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """A provider that is down is not the session's failure, though another chunk was refused before."""
    refused, down = failing(FaultKind.REFUSED, about(0)), failing(FaultKind.UNREADABLE, about(9))

    async def both(chunk: Chunk) -> None:
        await refused(chunk)
        await down(chunk)

    host.policy, scripted.before = CHUNKED, both
    host.enqueue(chat(20))
    await work(make_shop(map_per_job=1))
    assert recorder.total(metrics.JOBS, "neutral", "unreadable") == 1


async def test_more_than_one_in_four_is_a_failure(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """Then no other call is begun, and nothing is published."""
    host.policy = CHUNKED
    scripted.before = failing(FaultKind.REFUSED, lambda chunk: len(scripted.chunks) in (2, 3, 4))
    host.enqueue(chat(20))
    await work(make_shop(map_per_job=1))
    assert recorder.total(metrics.JOBS, "failure", "refused") == 1
    assert len(scripted.chunks) < 6


def test_the_maker_is_the_hop_of_most_chunks() -> None:
    """The earlier one of two; the first when rules made all."""

    def mapped(*hops: int | None) -> list[Mapped]:
        return [Mapped(Partial(Summary()), ChunkStatus.SUMMARISED, hop) for hop in hops]

    assert maker(mapped(1, 0, 1)) == 1
    assert maker(mapped(1, 0, 0, 1)) == 0
    assert maker(mapped(None, 2)) == 2
    assert maker(mapped(None)) == maker(mapped()) == 0
