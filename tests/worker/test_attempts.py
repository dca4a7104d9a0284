"""One job from its upload to its record, and what the store and the metrics then say."""

from __future__ import annotations

from ebbtide_core import metrics
from ebbtide_core.contract.record import ChunkStatus
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store import fleet_calls
from ebbtide_worker.shop import Shop
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted, shown


async def test_a_job_becomes_a_record(shop: Shop, host: HostSide, recorder: MemoryRecorder) -> None:
    """One enqueued job is published as version 1, leaves the index, and settles success."""
    messages = chat(20)
    order = host.enqueue(messages)

    assert await work(shop) == 1

    record = host.record(1)
    assert record.position == order.cut.position
    assert record.body_fits()
    assert record.summary_tokens <= order.figures.summary_max_tokens
    assert recorder.total(metrics.JOBS, "success", "published") == 1
    depth = host.store.run(fleet_calls.depth())
    assert (depth.ready, depth.running) == (0, 0)
    assert host.turn().claim is None


async def test_the_extractive_summariser_publishes_too(make_shop: MakeShop, host: HostSide) -> None:
    """Without any model the record holds the intent, the rule and what was done."""
    host.enqueue(chat(20))

    await work(make_shop(summariser="extractive"))

    summary = host.record(1).summary
    assert summary.session_intent.startswith("Please migrate the billing service")
    assert any("legacy/" in rule for rule in summary.user_constraints)
    assert "Step 16: I changed file src/module_16.py." in summary.completed + summary.decisions


async def test_coverage_is_whole_and_its_digests_are_those_of_the_chunks(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """Spans follow each other from base to position; each message in them was shown once."""
    host.policy = small_policy(chunk_tokens=300)
    order = host.enqueue(chat(20))

    await work(make_shop())

    record = host.record(1)
    edges = [(c.first, c.stop) for c in record.coverage]
    assert [first for first, _ in edges] == [0, *(stop for _, stop in edges[:-1])]
    assert edges[-1][1] == order.cut.position.count
    saw = sorted(m.index for chunk in scripted.chunks for m in chunk.messages)
    assert saw == list(range(order.cut.position.count))
    assert len(edges) > 3
    assert len({c.digest for c in record.coverage}) == len(edges)


async def test_the_next_record_builds_on_the_one_before(
    shop: Shop, host: HostSide, scripted: Scripted
) -> None:
    """After a swap the next job summarises only what is new, and gives the base summary to the merge."""
    messages = chat(20)
    host.enqueue(messages)
    await work(shop)
    first = host.record(1)
    scripted.chunks.clear()
    kept = host.swapped(messages, first) + chat(20)[1:]

    host.enqueue(kept)
    await work(shop)

    second = host.record(2)
    assert second.base == first.position
    assert second.coverage[0].first == first.position.count
    assert min(m.index for chunk in scripted.chunks for m in chunk.messages) == first.position.count
    assert scripted.merges[-1][1]
    assert set(first.summary.user_constraints) <= set(second.summary.user_constraints)


async def test_one_permit_drains_all_ready_jobs(shop: Shop, host: HostSide) -> None:
    """A drain takes job after job until the index is empty."""
    for n in range(3):
        HostSide(host.store, owner=type(host.owner)("acme", f"chat-{n}")).enqueue(chat(20))

    assert await work(shop) == 3
    assert await work(shop) == 0


async def test_a_stopping_worker_takes_nothing(shop: Shop, host: HostSide) -> None:
    """Once told to stop, a drain leaves the ready jobs to others."""
    host.enqueue(chat(20))
    shop.stopping.set()

    assert await work(shop) == 0
    assert host.store.run(fleet_calls.depth()).ready == 1


async def test_the_prose_is_the_models_and_the_lists_are_merged_by_code(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """Of a merge's answer only the prose is used; decisions of all chunks survive in their order."""
    host.policy = small_policy(chunk_tokens=300, summary_max_tokens=800)
    host.enqueue(chat(20))

    await work(make_shop())

    summary = host.record(1).summary
    assert summary.session_intent == "told by the merge"
    assert "never used" not in summary.decisions
    saw = shown(summary)
    assert saw == sorted(saw)
    assert len(saw) > 10


async def test_a_job_of_k_chunks_costs_the_store_nine_commands_and_one_for_each_chunk(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """take, guard, manifest, segments, which memos, memos, one memo a chunk, publish, done; then the take
    that finds nothing.
    """
    host.policy = small_policy(chunk_tokens=300)
    host.enqueue(chat(20))
    shop = make_shop(ask_again=60.0, renew_every=60.0)
    await work(shop)  # the server knows all scripts but those of memos and publication
    HostSide(host.store, owner=type(host.owner)("acme", "second"), policy=host.policy).enqueue(chat(20))
    scripted.chunks.clear()
    before = shop.store.stats.commands  # type: ignore[attr-defined]

    await work(shop)

    assert shop.store.stats.commands - before == 9 + len(scripted.chunks)  # type: ignore[attr-defined]


async def test_the_figures_of_a_job_are_recorded(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder
) -> None:
    """Queue wait, phases, chunks and paid tokens are recorded."""
    host.enqueue(chat(20))

    await work(make_shop())

    paid = len(scripted.chunks) + len(scripted.merges)
    assert recorder.total(metrics.JOB_TOKENS, "input") == 100 * paid
    assert recorder.total(metrics.CHUNKS, ChunkStatus.SUMMARISED.value) == len(scripted.chunks)
    phases = {labels[0] for name, labels in recorder.values if name == metrics.JOB_SECONDS.name}
    assert phases == {"load", "map", "reduce", "validate", "publish"}
    assert recorder.values[metrics.QUEUE_SECONDS.name, ("lo",)] == [0.0]
