"""Law 13: a user of the state store that is limited to one tenant's keys suffices for that tenant, and all it
tries on another's is refused by the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import pytest

from ebbtide import Policy, Pool, Session, Turn
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.decide import Reason
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner, encoded, fleet
from ebbtide_core.store import blob_calls
from ebbtide_core.store.client import AsyncStore, SyncStore
from ebbtide_core.store.script import Call, hash_tag
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.runtime import Runtime
from tests.brokers.page import rules
from tests.host.talk import chat
from tests.store.clock import Database
from tests.waiting import wait_until

POLICY: Final = Policy(keep_recent_tokens=500, min_new_tokens=100, io_budget=5.0, wait_budget=0.0)
PAIRS: Final = [
    (Owner("a:b", "c"), Owner("a", "b:c")),
    (Owner("a", "b:c"), Owner("a:b", "c")),
    (Owner("a%3Ab", "c"), Owner("a:b", "c")),
    (Owner("*", "c"), Owner("acme", "c")),
    (Owner("a*", "c"), Owner("acme", "c")),
    (Owner("a?", "c"), Owner("ab", "c")),
    (Owner("[a-z]", "c"), Owner("b", "c")),
    (Owner("[^x]", "c"), Owner("b", "c")),
    (Owner("a}", "c"), Owner("a", "}:c")),
    (Owner("a\\", "c"), Owner("a", "\\c")),
    (Owner("a", "c"), Owner("ab", "c")),
    (Owner("東", "c"), Owner("東京", "c")),
]
"""Each with the tenant that a user is limited to first."""

tenants = pytest.mark.parametrize(("mine", "other"), PAIRS, ids=lambda owner: owner.member)


@dataclass
class Ground:
    """A server, the URL of everybody and that of a user who is limited to one tenant; what stores ran."""

    server: EmbeddedServer
    data: Any
    user: str
    ran: list[Call[Any]] = field(default_factory=list)

    def limit(self, tenant: str, write: Callable[[str], str] = encoded) -> None:
        """Allow the user what the page's line for one tenant allows, for this tenant, written so."""
        named = [rule.replace("acme", write(tenant)) for rule in rules("ebbtide-acme")[2:]]
        self.data.execute_command("ACL", "SETUSER", self.user, "reset", "on", ">p", *named)
        self.data.execute_command("ACL", "LOG", "RESET")

    @property
    def url(self) -> str:
        """The user's URL."""
        return self.server.url.replace("unix://", f"unix://{quote(self.user)}:p@")

    def refusals(self) -> int:
        """How many kinds of commands the server refused."""
        return len(self.data.execute_command("ACL", "LOG"))

    def dump(self, owner: Owner) -> dict[bytes, bytes]:
        """Everything that the server holds of a session, and of its tenant besides sessions."""
        tag = f"ebbtide:1:{{t:{encoded(owner.tenant)}}}:*"
        keys = [key for pattern in (owner.pattern, tag) for key in self.data.scan_iter(pattern)]
        return {key: self.data.dump(key) for key in keys}


@pytest.fixture
def ground(server: EmbeddedServer, database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ground]:
    """The empty server, with a user of its own for each test; every call of every store is noted."""
    ground = Ground(server, database, f"one-{uuid4().hex}")
    sync_run: Callable[..., Any] = SyncStore.run
    async_run: Callable[..., Any] = AsyncStore.run

    def run(store: SyncStore, call: Call[Any]) -> Any:
        ground.ran.append(call)
        return sync_run(store, call)

    async def arun(store: AsyncStore, call: Call[Any]) -> Any:
        ground.ran.append(call)
        return await async_run(store, call)

    monkeypatch.setattr(SyncStore, "run", run)
    monkeypatch.setattr(AsyncStore, "run", arun)
    yield ground
    database.execute_command("ACL", "DELUSER", ground.user)


def turn(session: Session) -> Turn:
    """Take a turn of a conversation that needs a compaction."""
    return session.prepare(chat(24), max_tokens=200)


def swaps(session: Session) -> bool:
    """Take a turn, which meets no fault; say whether it swapped a version in."""
    taken = turn(session)
    assert taken.report.faults == ()
    return taken.swap is not None


def session_of(pool: Pool, owner: Owner) -> Session:
    """Return a session."""
    return pool.session(
        tenant=owner.tenant, session_id=owner.session_id, model="gpt-test", context_window=4_000
    )


def work(ground: Ground, url: str) -> None:
    """Take all jobs of the index, in a worker with this state URL."""
    config = WorkerConfig(broker=ground.server.url, state=url, tick=600.0, running_lease=1.0, renew_every=0.2)
    runtime = Runtime(config)
    runtime.start()
    runtime.work()
    runtime.stop()


def live(ground: Ground, owner: Owner, url: str) -> None:
    """Have a session of the owner compacted and swapped, by a host and a worker with this state URL."""
    with Pool(ground.server.url, url, policy=POLICY) as pool:
        session = session_of(pool, owner)
        assert turn(session).report.faults == ()
        assert pool.flush()
        work(ground, url)
        wait_until(lambda: swaps(session), "the version is swapped in")
        assert pool.flush()


@tenants
def test_its_own_tenant_s_keys_and_the_index_suffice(ground: Ground, mine: Owner, other: Owner) -> None:
    """The whole life of a session and of a job: nothing is refused."""
    ground.limit(mine.tenant)
    live(ground, mine, ground.url)
    assert ground.refusals() == 0


@tenants
def test_every_call_on_another_tenant_s_keys_is_refused(ground: Ground, mine: Owner, other: Owner) -> None:
    """All that host and worker of the other tenant ever asked, asked anew: unavailable, no byte changes."""
    live(ground, other, ground.server.url)
    ground.limit(mine.tenant)
    foreign = [c for c in ground.ran if hash_tag(c.keys[0]) != hash_tag(fleet("ready"))]
    before = ground.dump(other)
    assert {"turn", "claim", "missing", "put", "guard", "get", "publish"} <= {call.script for call in foreign}
    assert before

    store = SyncStore(ground.url, timeout=5.0)
    for call in foreign:
        with pytest.raises(StoreUnavailable, match="NoPermission"):
            store.run(call)
    with pytest.raises(StoreUnavailable, match="NoPermission"):
        store.run_all([blob_calls.get(mine.segment("d")), *foreign])
    store.close()
    assert ground.dump(other) == before
    assert ground.refusals() > 0


@tenants
def test_a_host_of_another_tenant_goes_on_without_the_store(
    ground: Ground, mine: Owner, other: Owner
) -> None:
    """Its turns report a fault and keep everything; none raises."""
    ground.limit(mine.tenant)
    with Pool(ground.server.url, ground.url, policy=POLICY) as pool:
        session = session_of(pool, other)
        turns = [turn(session) for _ in range(3)]
        assert pool.flush()
    assert [taken.report.reason for taken in turns] == [Reason.STORE_UNAVAILABLE] * 3
    assert any("NoPermission" in fault for fault in turns[0].report.faults)
    assert [taken.buffer for taken in turns] == [chat(24)] * 3
    assert ground.dump(other) == {}


def test_a_worker_s_job_of_another_tenant_changes_nothing(ground: Ground) -> None:
    """It reaches the worker by the index, which is the fleet's: worker and session go on."""
    mine, other = PAIRS[0]
    with Pool(ground.server.url, policy=POLICY) as pool:
        session = session_of(pool, other)
        turn(session)
        assert pool.flush()
        ground.limit(mine.tenant)
        before = ground.dump(other)

        work(ground, ground.url)

        assert ground.dump(other) == before
        assert turn(session).report.faults == ()
    assert ground.refusals() > 0


def test_the_check_sees_a_pattern_that_is_not_encoded(ground: Ground) -> None:
    """A tenant whose name is a wildcard, written as it is: the other's session can be read."""
    mine, other = Owner("a*", "c"), Owner("acme", "c")
    ground.limit(mine.tenant, str)
    store = SyncStore(ground.url, timeout=5.0)
    assert store.run(blob_calls.get(other.segment("d"))) is None
    store.close()
