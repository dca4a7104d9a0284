"""A Valkey cluster as state store: calls find their node, a lost master is an outage that ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ebbtide_cli.doctor.checks import state_store
from ebbtide_cli.doctor.finding import Grade
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.client import AsyncStore, SyncStore
from tests.brokers.cluster import MASTERS, ValkeyCluster
from tests.brokers.fleet import TENANT, Fleet, fleet, until_met
from tests.cli.command import run
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

OWNERS = [Owner(TENANT, f"spread-{number}") for number in range(20)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ValkeyCluster]:
    """A cluster for the tests of this file."""
    with ValkeyCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def store(cluster: ValkeyCluster) -> Iterator[SyncStore]:
    """A store on the whole cluster."""
    cluster.await_whole()
    store = SyncStore(cluster.url, timeout=5.0)
    yield store
    store.close()


@pytest.fixture
def pool(cluster: ValkeyCluster, tmp_path: Path) -> Iterator[Fleet]:
    """Host and worker with their state in the cluster, permits in a plain server."""
    with EmbeddedServer(tcp=True) as broker:
        both = (broker.url, cluster.url)
        with fleet(tmp_path, host=both, worker=both) as running:
            yield running


def put_all(store: SyncStore) -> None:
    """Leave a blob under each owner's tag."""
    for owner in OWNERS:
        store.run(blob_calls.put({owner.segment("d"): owner.member.encode()}, ttl=60))


def test_calls_find_their_node(store: SyncStore, cluster: ValkeyCluster) -> None:
    """Each owner's blob is kept by one of the three masters, and read back: alone, in one go, by scan."""
    put_all(store)

    assert len({cluster.master_of(owner.state).port for owner in OWNERS}) == MASTERS
    one_by_one = [store.run(blob_calls.get(owner.segment("d"))) for owner in OWNERS]
    assert one_by_one == [owner.member.encode() for owner in OWNERS]
    assert store.run_all([blob_calls.get(owner.segment("d")) for owner in OWNERS]) == one_by_one
    found = [key for batch in store.scan(OWNERS[0].pattern.replace("-0", "-*")) for key in batch]
    assert sorted(found) == sorted(owner.segment("d") for owner in OWNERS)


async def test_calls_of_one_event_loop_find_their_node(store: SyncStore, cluster: ValkeyCluster) -> None:
    """Async, and side by side: the same."""
    put_all(store)
    client = AsyncStore(cluster.url, timeout=5.0)

    replies = await asyncio.gather(*(client.run(blob_calls.get(owner.segment("d"))) for owner in OWNERS))

    assert replies == [owner.member.encode() for owner in OWNERS]
    await client.close()


def test_a_slot_that_moves_is_followed(store: SyncStore, cluster: ValkeyCluster) -> None:
    """While a slot migrates, and after it did, its keys are found where they are."""
    owner = Owner(TENANT, "moving")
    call = blob_calls.get(owner.segment("d"))
    store.run(blob_calls.put({owner.segment("d"): b"x"}, ttl=60))
    source = cluster.master_of(owner.state)
    target = next(node for node in cluster.masters() if node is not source)
    slot = source.ask("CLUSTER", "KEYSLOT", owner.state)

    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.name)
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.name)
    source.ask("MIGRATE", "127.0.0.1", target.port, owner.segment("d"), 0, 5000)
    assert store.run(call) == b"x"
    for node in (target, source):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", target.name)
    assert store.run(call) == b"x"
    assert store.run_all([call, call]) == [b"x", b"x"]


def test_sessions_are_looked_at_by_hand(store: SyncStore, cluster: ValkeyCluster, pool: Fleet) -> None:
    """Of a session that was compacted, `ebbtide session` lists, shows and forgets everything."""
    pool.compacts("by-hand")
    names_it = ("by-hand", "--tenant", TENANT, "--state", cluster.url)

    listed = json.loads(run("session", "list", "--state", cluster.url, "--json").stdout)
    assert "by-hand" in json.dumps(listed)
    assert run("session", "show", *names_it).returncode == 0
    forgotten = run("session", "forget", *names_it, "--yes")
    assert forgotten.returncode == 0, forgotten.stderr
    owner = Owner(TENANT, "by-hand")
    assert list(store.scan(owner.pattern)) == []
    assert store.run(session_calls.look(owner)) is None


def test_the_doctor_looks_at_every_node(store: SyncStore, cluster: ValkeyCluster) -> None:
    """Settings of masters and replicas alike; the one that evicts is named."""
    assert {f.grade for f in state_store(cluster.url)} == {Grade.OK}
    wrong = cluster.nodes[-1]
    wrong.data.config_set("maxmemory-policy", "allkeys-lru")

    failed = [f for f in state_store(cluster.url) if f.grade is Grade.FAIL]

    wrong.data.config_set("maxmemory-policy", "noeviction")
    assert [f.check for f in failed] == ["eviction"]
    assert f":{wrong.port}" in failed[0].found


@pytest.mark.parametrize("url", ["redis://127.0.0.1:{}", "redis+cluster://127.0.0.1:1,127.0.0.1:{}"])
def test_what_a_url_leaves_out(url: str, cluster: ValkeyCluster) -> None:
    """A node taken for a single server says what to write; of several named nodes one has to answer."""
    far = next(o for o in OWNERS if cluster.master_of(o.state).port != cluster.nodes[0].port)
    store = SyncStore(url.format(cluster.nodes[0].port), timeout=5.0)
    if "+cluster" not in url:
        with pytest.raises(StoreUnavailable, match=r"give redis\+cluster://"):
            store.run(session_calls.look(far))
    else:
        with pytest.raises(StoreUnavailable):
            store.run(session_calls.look(far))
        assert store.run(session_calls.look(far)) is None
    store.close()


def test_a_lost_master_is_an_outage_that_ends(cluster: ValkeyCluster, pool: Fleet, store: SyncStore) -> None:
    """Its sessions go on without the store until a replica took over, through the same processes; the old
    master comes back as a replica."""
    session = pool.session("outage")
    dying = cluster.master_of(Owner(TENANT, "outage").state)
    wait_until(lambda: pool.swapped(session), "the session has its version")
    assert pool.faults == []

    dying.process.kill()
    until_met(pool, session, lambda faults: any("did not answer" in f for f in faults), "the loss is met")
    wait_until(lambda: _answers(store, Owner(TENANT, "outage")), "a replica took over")
    wait_until(lambda: pool.served(session), "the session has its store again")
    pool.compacts("after-the-outage")

    dying.process.start()
    cluster.await_whole()
    pool.compacts("after-the-return")


def _answers(store: SyncStore, owner: Owner) -> Any:
    try:
        return store.run(session_calls.look(owner))
    except StoreUnavailable:
        return None
