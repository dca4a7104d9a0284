"""Law 2, coverage, over random conversations of both formats, through upload, plan, calls and record."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.jsonio import digest, plain
from ebbtide_core.lineage.buffer import Kind
from ebbtide_core.lineage.canonical import canonical
from ebbtide_core.metrics import NullRecorder
from ebbtide_core.store.client import AsyncStore, SyncStore
from ebbtide_worker.shop import new_shop
from ebbtide_worker.summarisers.registry import Summarisers
from ebbtide_worker.work import work
from tests.store.clock import SCRIPTS, Clock, Database
from tests.strategies.content import Messages
from tests.strategies.messages import Format, buffers, formats
from tests.worker.conftest import CONFIG
from tests.worker.hostside import FakePermits, HostSide, small_policy
from tests.worker.scripted import Scripted

POLICY = small_policy(
    soft=0.01, keep_recent_tokens=0, keep_recent_messages=1, chunk_tokens=60, summary_max_tokens=2_000
)


def whole(record: SummaryRecord, shown: Sequence[int]) -> bool:
    """Law 2: each message of the range is in one span, and was shown unless carried; no other was."""
    covered = [index for span in record.coverage for index in range(span.first, span.stop)]
    carried = {c.index for c in record.carried}
    expected = list(range(record.base.count, record.position.count))
    return covered == expected and set(shown) == set(expected) - carried


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Format, Messages]:
    """Return a format and a conversation in it."""
    fmt = draw(formats)
    return fmt, draw(buffers(fmt, min_exchanges=4))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(conversations())
def test_law_02_coverage(
    server: EmbeddedServer,
    database: Database,
    clock: Clock,
    store: SyncStore,
    conversation: tuple[Format, Messages],
) -> None:
    """What a record stands for was shown to the summariser or is carried, all of it, under its digest."""
    fmt, messages = conversation
    database.flushdb()
    clock.write()
    host = HostSide(store, policy=POLICY, window=8_000, dialect=fmt)
    standing = host.standing(messages)
    assume(standing.cut is not None)
    order = host.order(messages)
    ample = order.figures.model_copy(update={"projected": 1_000_000})
    order = host.enqueue(messages, figures=ample)
    scripted = Scripted()

    asyncio.run(worked(server, scripted))

    record = host.record(1)
    assert whole(record, [m.index for chunk in scripted.chunks for m in chunk.messages])
    forms = {
        entry.index: canonical(plain(message), by_name(fmt))
        for entry, message in zip(order.buffer.entries, order.buffer.passed, strict=True)
        if entry.kind is Kind.SPOKEN
    }
    for span in record.coverage:
        run = [forms[index] for index in range(span.first, span.stop)]
        assert span.digest == digest(b"ebbtide/chunk/1", *run).hex()


async def worked(server: EmbeddedServer, scripted: Scripted) -> None:
    """Do all that is ready."""
    store = AsyncStore(server.url, timeout=10.0, scripts=SCRIPTS)
    shop = new_shop(
        CONFIG,
        worker_id="w",
        store=store,
        recorder=NullRecorder(),
        permits=FakePermits(),
        summarisers=Summarisers(CONFIG, {"scripted": lambda _: scripted}),
    )
    await work(shop)
    await store.close()


def test_the_checker_finds_a_message_that_nobody_was_shown(store: SyncStore, server: EmbeddedServer) -> None:
    """A record of which one message was not shown, or one span is missing, breaks the law."""
    host = HostSide(store)
    host.policy = small_policy(chunk_tokens=60)
    host.enqueue([{"role": "user", "content": f"fix src/a_{n}.py " + "word " * 80} for n in range(30)])
    scripted = Scripted()
    asyncio.run(worked(server, scripted))
    record = host.record(1)
    shown = [m.index for chunk in scripted.chunks for m in chunk.messages]

    assert whole(record, shown)
    assert not whole(record, [index for index in shown if index != 3])
    assert not whole(record.model_copy(update={"coverage": record.coverage[1:]}), shown)
