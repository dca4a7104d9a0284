"""Law 12: every key has one owner and a TTL, and a script touches the keys of one owner."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbtide import Policy
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import names
from ebbtide_core.contract.tenant import TenantPolicy
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, fleet_calls, session_calls, tenant_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.forget import forget
from ebbtide_core.store.script import Call, hash_tag
from tests.host.publisher import take, work_once
from tests.host.shells import SyncShell
from tests.host.talk import chat
from tests.laws.depth import EXAMPLES
from tests.store.leaks import keys_without_ttl

step = st.one_of(
    st.tuples(st.just("turn"), st.integers(1, 30)),
    st.just(("work", 0)),
    st.just(("take", 0)),
    st.just(("memo", 0)),
    st.just(("reset", 0)),
    st.just(("note", 0)),
    st.just(("cancel", 0)),
    st.just(("forget", 0)),
    st.just(("sweep", 0)),
    st.just(("declare", 0)),
    st.just(("pay", 0)),
    st.just(("hand back", 0)),
    st.just(("die", 0)),
)
name = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=20)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tenant=name, steps=st.lists(step, min_size=1, max_size=8))
def test_whatever_is_done_every_key_has_a_ttl(
    server: EmbeddedServer, database: Any, tenant: str, steps: list[tuple[str, int]]
) -> None:
    """Turns, jobs, dead workers, memos, resets, cancels, sweeps, payments, jobs handed back or given up, and
    forgetting leave no key that would live for ever, but for what was declared of tenants."""
    database.flushdb()
    store = SyncStore(server.url, timeout=5.0)
    session_id = uuid4().hex
    named: dict[str, Any] = {
        "tenant": tenant,
        "session_id": session_id,
        "model": "m",
        "context_window": 4_000,
    }
    host = SyncShell(server.url, None, named, policy=Policy(wait_budget=0.0, io_budget=10.0))
    try:
        for what, rounds in steps:
            carry_out(what, rounds, host, store, Owner(tenant, session_id))
            assert keys_without_ttl(database) == []
        tags = {hash_tag(key.decode()) for key in database.scan_iter(match="ebbtide:*")}
        owned = {
            "fleet",
            hash_tag(names.memo(tenant, "x")),
            hash_tag(Owner(tenant, session_id).state),
        }
        assert tags <= owned
    finally:
        host.close()
        store.close()


def carry_out(what: str, rounds: int, host: SyncShell, store: SyncStore, owner: Owner) -> None:
    """Do one step."""
    if what == "turn":
        host.prepare(chat(rounds))
        assert host.flush()
    elif what == "work":
        work_once(store)
    elif what == "take":
        take(store)
    elif what == "memo":
        store.run(blob_calls.memo_put(owner.tenant, "0" * 32, b"partial", ttl=60))
    elif what == "reset":
        host.reset()
    elif what == "note":
        note(store, owner)
    elif what == "cancel":
        store.run(session_calls.cancel(owner, state_ttl=60))
    elif what == "forget":
        assert forget(store, owner, shut=60).left.nothing
    elif what == "sweep":
        store.run(fleet_calls.sweep(tick=5, max_queue_age=120, ttl=600))
    else:
        of_tenants(what, store, owner.tenant)


def of_tenants(what: str, store: SyncStore, tenant: str) -> None:
    """Declare what a tenant may have, or do something to the attempts that run, whose workers were taken."""
    if what == "declare":
        declared = TenantPolicy(weight=2, tokens_a_day=1_000)
        store.run(fleet_calls.limits_put(tenant, declared))
        store.run(tenant_calls.policy_put(tenant, declared))
        store.run(tenant_calls.default_put(declared))
        return
    if what == "die":
        store.run(fleet_calls.sweep(tick=5, max_attempts=1, max_queue_age=120, ttl=600))
    for listed in store.run(fleet_calls.jobs(9, tenant)).jobs:
        if what == "pay":
            store.run(fleet_calls.renew(listed.job, 0.001, fleet_calls.Paid(1, 0.01)))
        elif what == "hand back":
            store.run(fleet_calls.hand_back(listed.job, listed.worker))


def note(store: SyncStore, owner: Owner) -> None:
    """Note a memo as the session's, if it has a state."""
    seen = store.run(session_calls.look(owner))
    if seen is not None:
        incarnation, generation = seen.view.incarnation, seen.view.generation
        call = session_calls.memos_used(
            owner, ["0" * 32], incarnation=incarnation, generation=generation, ttl=60
        )
        assert store.run(call)


def test_the_checker_sees_a_key_that_would_live_for_ever(database: Any) -> None:
    """The checker is able to fail: a key of ours without TTL is listed unless it is a declaration, one of the
    broker's is not."""
    database.set("ebbtide:1:{fleet}:left", "x")
    database.set("_kombu.binding", "x")
    database.hset(names.fleet("limits"), "t", "x")
    database.hset(names.fleet("spent"), "t", "x")
    assert keys_without_ttl(database) == [b"ebbtide:1:{fleet}:left", b"ebbtide:1:{fleet}:spent"]
    database.delete("ebbtide:1:{fleet}:left", names.fleet("spent"))


@given(one=st.tuples(name, name), other=st.tuples(name, name))
def test_a_call_takes_the_keys_of_one_owner_only(one: tuple[str, str], other: tuple[str, str]) -> None:
    """A call over keys of two owners can't even be made."""
    keys = (Owner(*one).state, Owner(*other).state)
    if one == other:
        assert Call("turn", keys, (), str).keys == keys
    else:
        with pytest.raises(ValueError, match="several owners"):
            Call("turn", keys, (), str)
