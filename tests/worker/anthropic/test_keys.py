"""Keys of tenants: each is used for its own calls only, rotates without a restart, and shows up nowhere."""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from ebbtide_core.contract.tenant import Hop, TenantPolicy
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import tenant_calls
from ebbtide_core.store.client import AsyncStore
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.shop import new_shop
from ebbtide_worker.summarisers.anthropic import Anthropic
from ebbtide_worker.summarisers.base import Terms
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.standin import Behaviour, Kind, StandIn
from tests.store.clock import Database
from tests.worker.anthropic.talk import KEY_ENV, chunk, terms
from tests.worker.conftest import CONFIG
from tests.worker.hostside import FakePermits, HostSide

SECRET = "sk-ant-of-"


def of(tenant: str) -> Terms:
    """What a tenant's job asks for."""
    asked = terms()
    return Terms(tenant, asked.language, asked.max_tokens, asked.count)


def digest(key: str) -> str:
    """How the stand-in's log names a key, as the SDK sends it."""
    return blake2b(f"Bearer {key}".encode(), digest_size=4).hexdigest()


def keys(standin: StandIn) -> list[str]:
    """The keys that the stand-in was asked with, in order."""
    return [entry["key"] for entry in standin.control.requests(settled=True)]


def clients() -> int:
    """How many clients of the SDK are open in this process."""
    gc.collect()
    return sum(type(found) is AsyncAnthropic and not found.is_closed() for found in gc.get_objects())


def tenants_own(standin: StandIn) -> Anthropic:
    """A summariser whose keys a callable gives, each tenant its own."""
    config = WorkerConfig(
        "u://", "u://", base_url=standin.url, credentials=lambda tenant, name: SECRET + tenant + name
    )
    return Anthropic.of(config).at(Hop(credentials="call:-1"))


async def test_each_tenant_s_calls_go_with_its_own_key(standin: StandIn) -> None:
    """Side by side too; two tenants share no client, and calls of one share one."""
    summariser, before = tenants_own(standin), clients()
    order = ["acme", "rival", "acme", "rival", "acme"]
    for tenant in order:
        await summariser.map(chunk(), of(tenant))
    await asyncio.gather(*(summariser.map(chunk(), of(tenant)) for tenant in order))

    found = keys(standin)
    assert found[:5] == [digest(f"{SECRET}{tenant}-1") for tenant in order]
    assert sorted(found[5:]) == sorted(found[:5])
    assert clients() - before == 2
    await summariser.close()
    assert clients() == before


async def test_hops_with_the_same_endpoint_and_key_share_a_client(standin: StandIn) -> None:
    """Whatever their models are."""
    summariser, before = Anthropic(base_url=standin.url, reference=f"env:{KEY_ENV}"), clients()
    for hop in (Hop(), Hop(model="m-2"), Hop(credentials=f"env:{KEY_ENV}", window=9)):
        await summariser.at(hop).map(chunk(), terms())
    assert clients() - before == 1
    assert [entry["body"]["model"] for entry in standin.control.requests()][1] == "m-2"
    await summariser.close()


async def test_a_key_that_is_replaced_serves_the_next_call(standin: StandIn, tmp_path: Path) -> None:
    """Without a restart; calls under way end with the old one, whose client is then closed."""
    file = tmp_path / "key"
    file.write_text(f"{SECRET}old")
    summariser, before = Anthropic(base_url=standin.url, reference=f"file:{file}"), clients()
    standin.control.queue(Behaviour(latency=0.5))
    slow = asyncio.create_task(summariser.map(chunk(), terms()))
    await asyncio.to_thread(standin.control.requests, count=1)
    file.write_text(f"{SECRET}new\n")

    await summariser.map(chunk(), terms())
    assert not slow.done()
    assert clients() - before == 2
    assert (await slow).usage.calls == 1

    assert keys(standin) == [digest(f"{SECRET}old"), digest(f"{SECRET}new")]
    assert clients() - before == 1
    await summariser.close()


@pytest.mark.parametrize("kind", [Kind.GOOD, Kind.UNAUTHORIZED, Kind.DROP])
async def test_a_tenant_s_key_shows_up_nowhere(
    standin: StandIn,
    async_store: AsyncStore,
    host: HostSide,
    recorder: MemoryRecorder,
    database: Database,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    kind: Kind,
) -> None:
    """Not in the store, not in logs at any level, metrics or reprs, whether its calls succeed or fail."""
    (tmp_path / "key").write_text(f"{SECRET}acme")
    hops = (
        Hop(summariser="anthropic", base_url=standin.url, credentials=f"file:{tmp_path / 'key'}"),
        Hop(summariser="anthropic", base_url=standin.url, credentials="call:main"),
    )
    host.store.run(tenant_calls.policy_put("acme", TenantPolicy(route=hops)))
    config = replace(CONFIG, credentials=lambda tenant, name: SECRET + tenant + name)
    shop = new_shop(config, worker_id="w1", store=async_store, recorder=recorder, permits=FakePermits())
    standin.control.queue(kind)
    HostSide(host.store, owner=Owner.of("acme", "c")).enqueue(chat(20))

    with caplog.at_level(logging.DEBUG):
        await work(shop)
    told = [repr(shop), repr(vars(shop.summarisers)), *map(str, recorder.counts), *map(str, recorder.values)]
    for hop in hops:
        told += [repr(vars(shop.summarisers.at(hop))), repr(vars(shop.summarisers.at(hop)._connections))]  # type: ignore[attr-defined]
    told += [f"{each.getMessage()} {each.__dict__} {each.exc_text}" for each in caplog.records]
    told += [repr(_everything(database))]
    await shop.summarisers.close()

    assert keys(standin)
    for text in told:
        assert SECRET not in text


def _everything(database: Any) -> list[object]:
    """All keys of the store, with what they hold."""
    read = {
        b"hash": database.hgetall,
        b"string": database.get,
        b"set": database.smembers,
        b"zset": lambda key: database.zrange(key, 0, -1),
        b"list": lambda key: database.lrange(key, 0, -1),
    }
    return [(key, read[database.type(key)](key)) for key in database.keys("*")]
