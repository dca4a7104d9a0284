"""Laws 8 and 10 where no summary is to be had: a refused job and a blocked tenant change nothing and raise
nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbtide import Action, Pool, Reason, Session, Turn
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.contract.tenant import BlockReason, Refusal, TenantPolicy
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls, session_calls, tenant_calls
from ebbtide_core.store.client import SyncStore
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.host.talk import chat, said

WINDOW = 4_000
PATIENT = SMALL.model_copy(update={"wait_budget": 5.0})
REFUSALS = (TenantPolicy(max_pending=0), TenantPolicy(tokens_a_day=0), TenantPolicy(spend_a_day=0.0))

hindrances = st.sampled_from([*BlockReason, *REFUSALS])
lives = st.lists(st.sampled_from(["said", "said", "long", "hinder", "free", "work"]), min_size=4, max_size=12)


@pytest.fixture
def store(server: EmbeddedServer, database: Any) -> Iterator[SyncStore]:
    """The store as a worker sees it."""
    found = SyncStore(server.url, timeout=10.0)
    yield found
    found.close()


@pytest.fixture
def informed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenants are read anew each turn."""
    monkeypatch.setattr("ebbtide.tenants.REFRESH_SECONDS", 0.0)


@pytest.fixture
def at_once(informed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenants are read anew each turn, and a refused session asks again at once."""
    monkeypatch.setattr("ebbtide.courier.pause", lambda _owner, _epoch: 0.0)


class World:
    """One tenant's session on a pool, and what stands in its way."""

    def __init__(self, pool: Pool, store: SyncStore) -> None:
        self.pool, self.store = pool, store
        self.tenant = f"t-{uuid4().hex}"
        self.owner = Owner(self.tenant, "chat")
        self.session = self._session("chat")
        self.messages: list[Any] = chat(18)
        self.hindrance: BlockReason | TenantPolicy | None = None

    def _session(self, name: str) -> Session:
        return self.pool.session(tenant=self.tenant, session_id=name, model="gpt-test", context_window=WINDOW)

    def hinder(self, hindrance: BlockReason | TenantPolicy) -> None:
        """Let no job of the tenant be made, until it is freed."""
        self.free()
        self.hindrance = hindrance
        if isinstance(hindrance, BlockReason):
            self.store.run(tenant_calls.block_put(self.tenant, hindrance, 600))
        else:
            self.store.run(fleet_calls.limits_put(self.tenant, hindrance))
        self._tell()

    def free(self) -> None:
        """Let jobs be made again."""
        self.hindrance = None
        self.store.run(tenant_calls.block_drop(self.tenant))
        self.store.run(fleet_calls.limits_drop(self.tenant))
        self._tell()

    def _tell(self) -> None:
        self._session("another")
        assert self.pool.flush(20.0)

    def turn(self) -> Turn:
        """Take a turn, and let the background end what it began."""
        turn = self.session.prepare(self.messages)
        assert self.pool.flush(20.0)
        return turn

    def kept(self) -> tuple[Any, ...]:
        """What the store keeps of the session beyond the count of its turns and what is uploaded."""
        found = self.store.run(session_calls.look(self.owner))
        if found is None:
            return ()
        view, depth = found.view, self.store.run(fleet_calls.depth())
        claim = view.claim.job_id if view.claim else None
        records = (view.newest, view.headers, view.generation, view.incarnation)
        return (records, claim, view.breaker, found.failures, depth.ready)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(life=lives, hindrance=hindrances)
def test_what_hinders_a_job_changes_neither_buffer_nor_store(
    server: EmbeddedServer, store: SyncStore, at_once: None, life: list[str], hindrance: Any
) -> None:
    """However the session goes on, and whatever it had before: only a record that was ready is swapped in."""
    with Pool(server.url, policy=SMALL) as pool:
        world = World(pool, store)
        world.turn()
        steps: dict[str, Callable[[], object]] = {
            "said": lambda: world.messages.extend(said(len(world.messages))),
            "long": lambda: world.messages.extend(said(len(world.messages), 1_000)),
            "hinder": lambda: world.hinder(hindrance),
            "free": world.free,
            "work": lambda: work_once(store),
        }
        for step in life:
            steps[step]()
            given, before = list(world.messages), world.kept()
            turn = world.turn()
            if world.hindrance is not None:
                assert world.kept() == before
            if turn.swap is None:
                assert turn.buffer == given
            world.messages = list(turn.buffer)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hindrance=hindrances, rounds=st.integers(26, 40))
def test_at_hard_nobody_waits_for_what_can_not_be_had(
    server: EmbeddedServer, store: SyncStore, informed: None, hindrance: Any, rounds: int
) -> None:
    """The turn degrades and says why; what was refused once is not even asked for at the next one."""
    with Pool(server.url, policy=PATIENT) as pool:
        world = World(pool, store)
        world.messages = chat(rounds)
        world.hinder(hindrance)
        reports = [world.turn().report for _ in range(2)]
        assert {report.action for report in reports} == {Action.DEGRADE}
        assert all(report.waited < PATIENT.wait_budget / 2 for report in reports)
        assert reports[1].waited == 0
        blocked = isinstance(hindrance, BlockReason)
        assert {r.reason for r in reports} == {Reason.PROVIDER_DOWN if blocked else Reason.REFUSED}
        assert all(r.block is hindrance if blocked else isinstance(r.refused, Refusal) for r in reports)
