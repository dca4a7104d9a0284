"""How far a host goes: the most cautious of pool, policy, tenant and session, each changeable at run time."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ebbtide import Action, InputError, Mode, Pool, Reason
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.contract.tenant import TenantPolicy
from ebbtide_core.names import Owner
from ebbtide_core.policy import most_cautious
from ebbtide_core.store import session_calls, tenant_calls
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import settle, take, work_once
from tests.host.shells import SMALL, Shell
from tests.host.talk import chat
from tests.waiting import wait_until

OWNER = Owner("acme", "chat")


def ask_tenant(store: SyncStore, mode: Mode) -> None:
    """Have the tenant ask for a mode."""
    store.run(tenant_calls.policy_put("acme", TenantPolicy(mode=mode)))


def ask_session(store: SyncStore, host: Shell, mode: Mode | None) -> None:
    """Have the session ask for a mode, once it has a state."""
    host.prepare(chat(1))
    assert store.run(session_calls.set_mode(OWNER, mode))


@pytest.mark.parametrize("modes", list(product((Mode.ON, Mode.SHADOW, Mode.OFF), repeat=2)), ids=str)
def test_tenant_and_session_may_each_ask_for_less(
    make_host: MakeHost, worker_store: SyncStore, modes: tuple[Mode, Mode]
) -> None:
    """With pool and policy on, the more cautious of the two decides."""
    tenant, session = modes
    ask_session(worker_store, make_host(), session)
    ask_tenant(worker_store, tenant)
    host = make_host()
    host.flush()
    reasons = {Mode.ON: Reason.OVER_SOFT, Mode.SHADOW: Reason.SHADOW, Mode.OFF: Reason.MODE_OFF}
    assert host.prepare(chat(20)).report.reason is reasons[most_cautious(tenant, session)]


@pytest.mark.parametrize("asks", ["pool", "policy", "tenant", "session"])
def test_each_of_the_four_can_switch_a_session_off(
    make_host: MakeHost, worker_store: SyncStore, asks: str
) -> None:
    """Whoever asks for off: at hard the request is kept as it is."""
    given: dict[str, Any] = {"mode": Mode.OFF} if asks == "pool" else {}
    if asks == "policy":
        given["policy"] = SMALL.model_copy(update={"mode": Mode.OFF})
    if asks == "tenant":
        ask_tenant(worker_store, Mode.OFF)
    if asks == "session":
        ask_session(worker_store, make_host(), Mode.OFF)
    host = make_host(**given)
    host.flush()
    report = host.prepare(chat(27)).report
    assert (report.action, report.reason) == (Action.KEEP, Reason.MODE_OFF)


def test_the_mode_of_a_session_changes_from_turn_to_turn(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """What `ebbtide session mode` sets holds for the next turn."""
    host = make_host()
    for mode, reason in (
        (Mode.OFF, Reason.MODE_OFF),
        (Mode.SHADOW, Reason.SHADOW),
        (None, Reason.JOB_PENDING),
    ):
        ask_session(worker_store, host, mode)
        assert host.prepare(chat(20)).report.reason is reason
        host.flush()


def test_the_mode_of_a_tenant_changes_while_its_sessions_go_on(
    make_host: MakeHost, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenant that is switched off and on again needs no restart, and no other turn than those it takes."""
    monkeypatch.setattr("ebbtide.tenants.REFRESH_SECONDS", 0.0)
    host = make_host()
    for mode, reason in ((Mode.OFF, Reason.MODE_OFF), (Mode.ON, Reason.JOB_PENDING)):
        ask_tenant(worker_store, mode)
        wait_until(lambda wanted=reason: host.prepare(chat(20)).report.reason is wanted, f"{mode}")  # type: ignore[misc]


def test_a_tenant_that_is_off_costs_the_store_nothing_on_the_turns_path(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Its turns take no round trip; a swap that was made stays in the buffer."""
    host = make_host()
    host.prepare(chat(20))
    host.flush()
    work_once(worker_store)
    buffer = host.prepare(chat(20)).buffer
    ask_tenant(worker_store, Mode.OFF)
    off = make_host()
    off.flush()
    turn = off.prepare(buffer)
    assert off.stats.commands == 0
    assert (turn.report.reason, turn.buffer, turn.messages) == (Reason.MODE_OFF, buffer, buffer)


def test_the_mode_of_a_pool_can_be_set_while_it_runs(server: EmbeddedServer, worker_store: SyncStore) -> None:
    """It holds from the next turn of each session on; what is no mode is refused and changes nothing."""
    with Pool(server.url, policy=SMALL) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
        pool.mode = Mode.OFF
        assert session.prepare(chat(20)).report.reason is Reason.MODE_OFF
        with pytest.raises(InputError, match="none of off, shadow, on"):
            pool.mode = "loud"
        assert pool.mode is Mode.OFF
        pool.mode = "on"
        assert session.prepare(chat(20)).report.reason is Reason.OVER_SOFT


def test_a_tenants_cool_down_stands_before_the_policys(make_host: MakeHost, worker_store: SyncStore) -> None:
    """With a cool-down of two counted turns the second one makes the breaker half-open."""
    worker_store.run(tenant_calls.policy_put("acme", TenantPolicy(breaker_cooldown=2)))
    host = make_host()
    host.flush()
    opened(host, worker_store)
    reasons = [host.prepare(chat(20)).report.reason for _ in range(2)]
    assert reasons == [Reason.BREAKER_OPEN, Reason.OVER_SOFT]


def test_a_tenants_cool_down_may_be_a_time(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Then the turn after that time finds it half-open, however few turns there were."""
    policy = TenantPolicy(breaker_cooldown=1_000_000, breaker_cooldown_seconds=0.3)
    worker_store.run(tenant_calls.policy_put("acme", policy))
    host = make_host()
    host.flush()
    opened(host, worker_store)
    wait_until(lambda: host.prepare(chat(20)).report.reason is Reason.OVER_SOFT, "half-open")


def opened(host: Shell, store: SyncStore) -> None:
    """Let jobs of the session fail until its breaker is open."""
    for _ in range(3):
        host.prepare(chat(20))
        host.flush()
        job = take(store)
        assert job is not None
        assert settle(store, job, Outcome.FAILURE)
    found = store.run(session_calls.look(OWNER))
    assert found is not None
    assert found.view.breaker is BreakerState.OPEN


def test_a_sessions_mode_holds_while_the_store_is_away(make_host: MakeHost) -> None:
    """A host that knows that people switched the session off degrades nothing in an outage."""
    with EmbeddedServer(tcp=True) as server:
        store = SyncStore(server.url, timeout=5.0)
        host = make_host(broker=server.url, state=server.url)
        ask_session(store, host, Mode.OFF)
        assert host.prepare(chat(1)).report.reason is Reason.MODE_OFF
        store.close()
        server.kill()
        turns = [host.prepare(chat(27)).report for _ in range(2)]
        assert any("store" in fault for fault in turns[0].faults)
        assert {(turn.action, turn.reason) for turn in turns} == {(Action.KEEP, Reason.MODE_OFF)}
