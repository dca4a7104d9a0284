"""What tenants may have and how they stand, as a worker carries it out."""

from __future__ import annotations

import asyncio

import pytest

from ebbtide_core import metrics, names
from ebbtide_core.breaker import BreakerState
from ebbtide_core.contract.tenant import REFRESH_SECONDS, BlockReason, Hop, TenantPolicy
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store import fleet_calls, tenant_calls
from ebbtide_core.store.client import AsyncStore
from ebbtide_worker import tenants
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import Chunk, FaultKind, SummariserFault
from ebbtide_worker.tenants import Tenants
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.store.clock import Database
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted
from tests.worker.test_leases import Flaky, HandClock
from tests.worker.test_settling import ended, failing

OWN = TenantPolicy(weight=7)
DEFAULT = TenantPolicy(weight=3)


@pytest.fixture
def flaky(async_store: AsyncStore) -> Flaky:
    """A store that can be away."""
    return Flaky(async_store)


async def test_a_tenants_own_policy_goes_before_the_default_and_that_before_none(
    async_store: AsyncStore,
) -> None:
    """Each is asked for where the one before is not there."""
    now = HandClock()
    known = Tenants(async_store, now)
    assert await known.of("acme") == TenantPolicy()
    for call, expected in (
        (tenant_calls.default_put(DEFAULT), DEFAULT),
        (tenant_calls.policy_put("acme", OWN), OWN),
        (tenant_calls.policy_drop("acme"), DEFAULT),
    ):
        await async_store.run(call)
        now.now += REFRESH_SECONDS
        assert await known.of("acme") == expected


async def test_a_policy_is_read_at_most_once_in_ten_seconds(flaky: Flaky) -> None:
    """And the default for all tenants together: a second one costs one read."""
    now = HandClock()
    known = Tenants(flaky, now)
    for expected in (2, 2, 3):
        await known.of("acme" if expected == 2 else "other")
        assert flaky.calls == expected
    now.now = REFRESH_SECONDS
    await known.of("acme")
    assert flaky.calls == 5


async def test_jobs_that_begin_together_read_it_once(flaky: Flaky) -> None:
    """The others wait for the read that is under way."""
    known = Tenants(flaky)
    await asyncio.gather(*(known.of("acme") for _ in range(8)))
    assert flaky.calls == 2


async def test_a_store_that_is_away_leaves_what_was_known(
    flaky: Flaky, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told, and asked again when the policy is due anew."""
    await flaky.run(tenant_calls.policy_put("acme", OWN))
    now = HandClock()
    known = Tenants(flaky, now)
    assert await known.of("acme") == OWN
    flaky.away, now.now = 1, REFRESH_SECONDS
    assert await known.of("acme") == OWN
    assert "not read" in caplog.text
    await flaky.run(tenant_calls.policy_put("acme", DEFAULT))
    now.now = 2 * REFRESH_SECONDS
    assert await known.of("acme") == DEFAULT


async def test_a_read_that_failed_is_made_again(flaky: Flaky) -> None:
    """A tenant of whom nothing is known has no policy for this call alone, not for the seconds after it."""
    await flaky.run(tenant_calls.policy_put("acme", OWN))
    known = Tenants(flaky, HandClock())
    flaky.away = 1
    assert await known.of("acme") == TenantPolicy()
    assert await known.of("acme") == OWN


@pytest.fixture
def routed(host: HostSide) -> None:
    """The tenant has a route of its own, which the worker's settings know nothing of."""
    policy = TenantPolicy(route=(Hop(summariser="extractive"),))
    host.store.run(tenant_calls.policy_put(host.owner.tenant, policy))


@pytest.mark.usefixtures("routed")
async def test_a_job_bears_an_outage_before_its_tenants_policy_is_known(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, flaky: Flaky
) -> None:
    """Its content goes nowhere but to the tenant's own route."""
    shop = make_shop(summariser="scripted")
    shop.tenants, flaky.away = Tenants(flaky), 1
    host.enqueue(chat(20))

    await work(shop)

    assert host.record(1).summariser.name == "extractive"
    assert scripted.chunks == []


@pytest.mark.usefixtures("routed")
async def test_a_job_of_a_tenant_whose_policy_can_not_be_read_is_not_run(
    shop: Shop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """Not with the worker's own key and endpoint either; the session is not to blame."""
    database.set(names.tenant_policy(host.owner.tenant), b"damaged")
    host.enqueue(chat(20))

    await work(shop)

    assert scripted.chunks == []
    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "policy_unreadable") == 1


async def test_only_so_many_tenants_are_remembered(flaky: Flaky, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one used longest ago is forgotten, and read again."""
    monkeypatch.setattr(tenants, "MAX_TENANTS", 2)
    known = Tenants(flaky, HandClock())
    for name in ("a", "b", "a", "c"):
        await known.of(name)
    before = flaky.calls
    await known.of("a")
    assert flaky.calls == before
    await known.of("b")
    assert flaky.calls == before + 1


async def test_a_job_of_a_tenant_that_used_up_its_day_stops_paying(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, recorder: MemoryRecorder, database: Database
) -> None:
    """The renewal before a call tells so; it ends neutral, and the memos of what was paid stay."""
    host.policy = small_policy(chunk_tokens=300)
    host.enqueue(chat(20))
    host.store.run(fleet_calls.limits_put("acme", TenantPolicy(tokens_a_day=200)))

    await work(make_shop(map_per_job=1, renew_every=60.0))

    assert len(scripted.chunks) == 2
    assert ended(host, database) == (0, 0, 0)
    assert recorder.total(metrics.JOBS, "neutral", "budget") == 1
    assert len(database.keys("*:memo:*")) == 2


@pytest.mark.parametrize(
    ("fault", "block", "seconds"),
    [
        (SummariserFault(FaultKind.AUTH), BlockReason.AUTH, 60.0),
        (SummariserFault(FaultKind.SPEND_LIMIT, retry_after=300.0), BlockReason.SPEND_LIMIT, 300.0),
        (SummariserFault(FaultKind.FORBIDDEN), BlockReason.AUTH, 60.0),
        (SummariserFault(FaultKind.NOT_FOUND), BlockReason.NOT_FOUND, 60.0),
        (SummariserFault(FaultKind.AUTH, retry_after=1e9), BlockReason.AUTH, 600.0),
        (
            SummariserFault(FaultKind.BLOCKED, retry_after=5.0, block=BlockReason.PROVIDER_DOWN),
            BlockReason.PROVIDER_DOWN,
            5.0,
        ),
        (SummariserFault(FaultKind.TIMEOUT), None, 0.0),
        (SummariserFault(FaultKind.REFUSED), None, 0.0),
    ],
    ids=lambda value: value.kind.value if isinstance(value, SummariserFault) else "",
)
async def test_hosts_are_told_of_an_account_that_can_not_be_used(
    shop: Shop,
    host: HostSide,
    scripted: Scripted,
    fault: SummariserFault,
    block: BlockReason | None,
    seconds: float,
) -> None:
    """They need not wait for its tenant's summaries, for as long as the fault says, within bounds; a call
    that only failed tells nothing about the next.
    """

    async def fail(_: Chunk) -> None:
        raise fault

    scripted.model = ""
    scripted.before = fail
    host.enqueue(chat(20))

    await work(shop)

    standing = host.store.run(tenant_calls.standing("acme"))
    assert standing.block == block
    assert standing.block_seconds == pytest.approx(seconds, abs=1.0)


async def test_a_tenants_breaker_opens_as_its_policy_says(
    make_shop: MakeShop, host: HostSide, scripted: Scripted
) -> None:
    """The worker reads it with the first job, and counts failures by it."""
    host.store.run(tenant_calls.policy_put("acme", TenantPolicy(breaker_failures=1)))
    scripted.before = failing(FaultKind.REFUSED)
    host.enqueue(chat(20))

    await work(make_shop(breaker_failures=3))

    assert host.turn().breaker is BreakerState.OPEN
