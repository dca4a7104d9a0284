"""What one job costs the state store: on the worker's side, and on the host's to have it enqueued."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, Final

import pytest
import pytest_asyncio

from ebbtide.courier import Courier
from ebbtide.turns.memory import Mailbox
from ebbtide.turns.order import Order
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.record import ChunkStatus, SummaryRecord
from ebbtide_core.metrics import NullRecorder
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import AsyncStore, SyncStore
from ebbtide_worker.accounts import Accounts
from ebbtide_worker.shop import Shop, new_shop
from ebbtide_worker.tenants import Tenants
from ebbtide_worker.work import work
from tests.costs.counting import Spent, spending
from tests.costs.jobs import conversation, host_of
from tests.standin import StandIn
from tests.standin.fixture import standin
from tests.store.clock import Database
from tests.worker.conftest import CONFIG
from tests.worker.hostside import FakePermits, HostSide

__all__ = ["standin"]

QUIET: Final = {"ask_again": 60.0, "renew_every": 60.0}
"""No lease is renewed while a job runs."""

ALWAYS: Final = {"ask_again": 0.0, "renew_every": 60.0}
"""Lease and session are asked before each paid call."""

KEY_ENV: Final = "EBBTIDE_TEST_KEY"

MakeShop = Callable[..., Shop]
both = pytest.mark.parametrize("summariser", ["extractive", "anthropic"])
sizes = pytest.mark.parametrize("chunks", [1, 2, 8])


@pytest_asyncio.fixture
async def shops(
    async_store: AsyncStore, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[MakeShop]:
    """Makes shops whose summarisers are the registered ones, with the stand-in as provider.

    The clock stands for what is asked now and then, so that how fast a test runs changes nothing.
    """

    def standing() -> float:
        return 0.0

    monkeypatch.setenv(KEY_ENV, "k")
    made: list[Shop] = []

    def make(summariser: str, **given: Any) -> Shop:
        config = replace(CONFIG, summariser=summariser, base_url=standin.url, key_env=KEY_ENV, **given)
        shop = new_shop(
            config, worker_id="w1", store=async_store, recorder=NullRecorder(), permits=FakePermits()
        )
        shop.tenants = Tenants(async_store, standing)
        shop.accounts = Accounts(async_store, NullRecorder(), standing)
        made.append(shop)
        return shop

    yield make
    for shop in made:
        await shop.summarisers.close()


async def once(shop: Shop, host: HostSide, chunks: int) -> SummaryRecord:
    """Have one job enqueued and done, and return its record."""
    host.enqueue(conversation(chunks))
    assert await work(shop) == 1
    record = host.record(1)
    assert [chunk.status for chunk in record.coverage] == [ChunkStatus.SUMMARISED] * chunks
    return record


async def spent_by(shop: Shop, async_store: AsyncStore, host: HostSide, chunks: int) -> Spent:
    """Return what a job costs the worker, after one of another tenant like it."""
    await once(shop, host_of(host.store, "before", 1), 1)
    with spending(async_store.stats) as spent:
        await once(shop, host, chunks)
    return spent


@both
@sizes
async def test_a_job_of_k_chunks_takes_ten_round_trips_and_one_for_each_chunk(
    shops: MakeShop, async_store: AsyncStore, store: SyncStore, summariser: str, chunks: int
) -> None:
    """take, guard, manifest, segments, the tenant's policy, which memos, memos, a memo for each chunk,
    publish, done, and the take that finds nothing; while no lease has to be renewed. The policy is read once
    in ten seconds, whatever the number of jobs; that of all tenants, and the account's limiter, were asked
    before.
    """
    spent = await spent_by(shops(summariser, **QUIET), async_store, host_of(store, "acme", chunks), chunks)
    assert spent.trips == Counter(take=2, guard=1, get=4, memos_used=1, put_new=chunks, publish=1, done=1)


@both
@sizes
async def test_asking_before_each_paid_call_adds_two_round_trips_a_call(
    shops: MakeShop, async_store: AsyncStore, store: SyncStore, summariser: str, chunks: int
) -> None:
    """At most, that is, when each call begins longer after the last answer than `ask_again`: renew in the
    fleet, guard in the session, for each chunk and for the merge, which one chunk alone does not need.
    """
    spent = await spent_by(shops(summariser, **ALWAYS), async_store, host_of(store, "acme", chunks), chunks)
    calls = chunks + (chunks > 1)
    assert spent.trips == Counter(
        take=2, guard=1 + calls, renew=calls, get=4, memos_used=1, put_new=chunks, publish=1, done=1
    )


def stored(database: Database, pattern: str) -> list[bytes]:
    """Return the values of all keys that match."""
    return [database.get(key) for key in database.scan_iter(pattern)]


def weight(values: list[bytes]) -> int:
    """Return the bytes of values without what frames them."""
    return sum(map(len, values))


def paid(store: SyncStore, tenant: str) -> str:
    """Return the figures in which a tenant's job was told to be paid."""
    spent = store.run(fleet_calls.spent(tenant))
    return f"{spent.tokens}{round(spent.dollars * fleet_calls.MICROS)}"


@both
@sizes
async def test_content_is_sent_and_fetched_once(
    shops: MakeShop,
    async_store: AsyncStore,
    store: SyncStore,
    database: Database,
    summariser: str,
    chunks: int,
) -> None:
    """Beside manifest and segments in, memos and record out, a job is names and numbers: about 2.9 kB out,
    and 0.5 kB in with the job itself; for each chunk 254 bytes out and 13 in.
    """
    host = host_of(store, "acme", chunks)
    spent = await spent_by(shops(summariser, **QUIET), async_store, host, chunks)
    mine = "ebbtide:1:{s:acme:*}:"
    fetched = weight(stored(database, f"{mine}man:*")) + weight(stored(database, f"{mine}seg:*"))
    sent = weight(stored(database, "ebbtide:1:{t:acme}:memo:*")) + weight(stored(database, f"{mine}rec:*"))
    digits = len(str(2 * chunks + 1)) - 1  # of the position, beyond the first
    assert spent.bytes_out - sent == 2_925 + 254 * chunks + digits + len(paid(store, "acme"))
    assert spent.bytes_in - fetched == 530 + 13 * chunks + digits


def enqueued(host: HostSide, segment_bytes: int = 256 << 10, **given: Any) -> Spent:
    """Return what it costs a host to have a job enqueued, its turn left out. All scripts are known before."""
    before = host_of(host.store, "before", 1)
    before.enqueue(conversation(1))
    host.store.run(fleet_calls.raise_urgency(before.owner))
    cut_up = host.policy.model_copy(update={"segment_bytes": segment_bytes})
    return carried(host, host.order(conversation(1), policy=cut_up, **given))


def gone_wrong(host: HostSide) -> None:
    """End the session's claim neutral, as a worker does whose provider is away."""
    order = host.order(conversation(1))
    host.store.run(
        session_calls.settle(
            host.owner,
            incarnation=order.incarnation,
            generation=order.generation,
            job_id=order.job_id,
            epoch=1,
            attempt=0,
            outcome=Outcome.NEUTRAL,
            breaker_failures=3,
            state_ttl=600.0,
        )
    )


def carried(host: HostSide, order: Order) -> Spent:
    """Return what carrying out an order costs."""
    courier, mailbox = Courier(host.store, host.permits, NullRecorder()), Mailbox()
    with spending(host.store.stats) as spent:
        assert courier.submit(order, mailbox)
        assert courier.flush(10.0)
    assert mailbox.faults() == ()
    return spent


@pytest.mark.parametrize(("segment_bytes", "segments"), [(256 << 10, 1), (1, 3)])
def test_having_a_job_enqueued_takes_six_round_trips_however_many_segments_it_has(
    store: SyncStore, database: Database, segment_bytes: int, segments: int
) -> None:
    """claim, presence check, segments and manifest, enqueue, note at the claim, tally; and one permit.
    Content is sent once, beside it 1.8 kB, and 144 bytes for each segment, whose key goes out twice.
    """
    host = host_of(store, "acme", 1)
    spent = enqueued(host, segment_bytes)
    assert spent.trips == Counter(claim=1, missing=1, put=1, enqueue=1, queued=1, tally_add=1)
    assert host.permits.sent == 1
    mine = "ebbtide:1:{s:acme:*}:"
    assert len(stored(database, f"{mine}seg:*")) == segments
    sent = weight(stored(database, f"{mine}man:*")) + weight(stored(database, f"{mine}seg:*"))
    assert spent.bytes_out - sent == 1_839 + 144 * segments
    assert spent.bytes_in == 80 + 7 * segments


def test_what_is_there_already_is_not_uploaded_again(store: SyncStore, database: Database) -> None:
    """A job that is enqueued anew finds its segments by name: only its manifest goes out."""
    host = host_of(store, "acme", 1)
    enqueued(host)
    gone_wrong(host)
    [manifest] = stored(database, "ebbtide:1:{s:acme:*}:man:*")
    spent = carried(host, host.order(conversation(1)))
    assert spent.trips == Counter(claim=1, missing=1, put=1, enqueue=1, queued=1, tally_add=1)
    assert spent.bytes_out - len(manifest) == 1_908


def test_an_order_for_what_is_queued_already_takes_one_round_trip(store: SyncStore) -> None:
    """The claim is taken; if the new order is more urgent, one more raises the job in its place."""
    host = host_of(store, "acme", 1)
    enqueued(host)
    assert carried(host, host.order(conversation(1))).trips == Counter(claim=1)
    urgent = host.order(conversation(1), urgency=Urgency.HI)
    assert carried(host, urgent).trips == Counter(claim=1, raise_urgency=1)
