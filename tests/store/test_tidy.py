"""Laws 12 and 13 for the store's keys: of one owner a script, never without lifetime, never shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core import names
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.contract.tenant import BlockReason, TenantPolicy
from ebbtide_core.limiter import Told
from ebbtide_core.names import Owner
from ebbtide_core.policy import Mode
from ebbtide_core.store import (
    account_calls,
    blob_calls,
    fleet_calls,
    session_calls,
    tally_calls,
    tenant_calls,
)
from ebbtide_core.store.script import Call, hash_tag, script_names
from tests.store.fleet import job
from tests.store.leaks import keys_without_ttl
from tests.store.session import NONE, at

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Database

OWNER = Owner.of("t:{}/%", "s é\U0001f600")
ACCOUNT = "a:{}/% é"
TTL = 600.0
SOON_MS = 1_000
WRITTEN = {"tally_add": 1, "memos_used": 1}
"""Which key a script writes, by its place, where it is not the first."""

SILENT = {"get", "drop", "full", "unlink"}
"""Scripts that write no key, or only remove some."""

LIFE: dict[str, Any] = {"incarnation": "i", "generation": 0}
ATTEMPT: dict[str, Any] = {**LIFE, "job_id": "j", "epoch": 1, "attempt": 0}


def session_script_calls() -> list[Call[Any]]:
    """One call of each script that writes state or tally, in an order in which each has a reason to."""
    claim: dict[str, Any] = {**LIFE, "job_id": "j", "position": at(10), "new_tokens": 9, "min_new_tokens": 1}
    header = RecordHeader(version=1, generation=0, position=at(10), body="b")
    return [
        session_calls.turn(
            OWNER,
            host="h",
            seq=1,
            fresh_incarnation="i",
            model="m",
            ratio=1.5,
            state_ttl=TTL,
            breaker_cooldown=5,
        ),
        session_calls.claim(OWNER, **claim, waits=0, urgency=Urgency.LO, lease=30, state_ttl=TTL),
        session_calls.claim(OWNER, **claim, waits=0, urgency=Urgency.HI, lease=30, state_ttl=TTL),
        session_calls.queued(OWNER, job_id="j", epoch=1, lease=125),
        session_calls.guard(OWNER, **ATTEMPT, after=NONE, lease=30),
        session_calls.breaker_reset(OWNER),
        session_calls.set_mode(OWNER, Mode.SHADOW),
        session_calls.settle(OWNER, **ATTEMPT, outcome=Outcome.FAILURE, breaker_failures=3, state_ttl=TTL),
        session_calls.claim(OWNER, **claim, waits=0, urgency=Urgency.LO, lease=30, state_ttl=TTL),
        session_calls.requeued(OWNER, job_id="j", epoch=2, attempt=0, lease=125),
        session_calls.cancel(OWNER, state_ttl=TTL),
        session_calls.memos_used(OWNER, ["d"], **LIFE, ttl=TTL),
        session_calls.review_add(OWNER, "{}", kept=3, ttl=TTL),
        session_calls.publish(
            OWNER, record_bytes=b"r", header=header, after=NONE, incarnation="i", kept=5, state_ttl=TTL
        ),
        session_calls.withdraw(OWNER, 1),
        session_calls.fork(OWNER, **LIFE, state_ttl=TTL, cooldown=5),
        session_calls.reset(OWNER, fresh_incarnation="i", state_ttl=TTL),
        tally_calls.tally_add(OWNER, "failure:timeout", ttl=TTL),
    ]


def fleet_script_calls() -> list[Call[Any]]:
    """One call of each script of the index, in an order in which each has something to write."""
    given_out = job("s", "t", urgency=Urgency.HI)
    return [
        fleet_calls.enqueue(job("s", "t"), ttl=TTL),
        fleet_calls.raise_urgency(Owner("t", "s")),
        fleet_calls.take("w", lease=0.001, max_queue_age=120, cap=3, ttl=TTL),
        fleet_calls.renew(given_out, 0.001),
        fleet_calls.enqueue(job("other", "t"), ttl=TTL),
        fleet_calls.take("w", lease=30, max_queue_age=120, ttl=TTL),
        fleet_calls.done(job("other", "t")),
        fleet_calls.enqueue(job("third", "t"), ttl=TTL),
        fleet_calls.unqueue(Owner("t", "third"), incarnation="life-1", generation=0, epoch=1),
        fleet_calls.enqueue(job("third", "t"), ttl=TTL),
        fleet_calls.take("w", lease=30, max_queue_age=120, ttl=TTL),
        fleet_calls.renew(job("third", "t"), 0.001, fleet_calls.Paid(10, 0.01)),
        fleet_calls.hand_back(job("third", "t"), "w"),
        fleet_calls.forget_member(Owner("t", "third")),
    ]


def limits_calls() -> list[Call[Any]]:
    """One call of each script on what tenants may have."""
    return [
        fleet_calls.limits_put("t", TenantPolicy()),
        fleet_calls.limits_put(None, TenantPolicy()),
        fleet_calls.tenants(),
        fleet_calls.limits_drop(None),
    ]


def blob_script_calls() -> list[Call[Any]]:
    """One call of each script on uploads and memos."""
    return [
        blob_calls.put({OWNER.segment("d"): b"x", OWNER.manifest("m"): b"y"}, ttl=TTL),
        blob_calls.missing([OWNER.segment("d"), OWNER.manifest("m")], ttl=TTL),
        blob_calls.get(OWNER.segment("d")),
        blob_calls.memo_put("t:{}/%", "d", b"x", ttl=TTL),
        blob_calls.memo_drop("t:{}/%", ["d"]),
        blob_calls.memo_forget("t:{}/%", ["d"], ttl=TTL),
        blob_calls.memos_full("t:{}/%", ["d"]),
        blob_calls.unlink([OWNER.segment("d"), OWNER.manifest("m")]),
    ]


def tenant_script_calls() -> list[Call[Any]]:
    """One call of each script on a tenant's policy and block."""
    return [
        tenant_calls.policy_put(OWNER.tenant, TenantPolicy()),
        tenant_calls.block_put(OWNER.tenant, BlockReason.AUTH, 60),
        tenant_calls.standing(OWNER.tenant),
        tenant_calls.default_put(TenantPolicy()),
    ]


def account_script_calls() -> list[Call[Any]]:
    """One call of each script that writes an account's state."""
    return [
        account_calls.told(ACCOUNT, Told.LIMITED),
        account_calls.admit(ACCOUNT, ticket=0, patience=9),
    ]


def reading_or_locking() -> list[Call[Any]]:
    """Calls that write nothing of their own, or a lock."""
    sweep = fleet_calls.sweep(tick=5, max_queue_age=120, ttl=TTL)
    of_session: list[Call[Any]] = [
        session_calls.look(OWNER),
        session_calls.memo_names(OWNER),
        session_calls.review_list(OWNER),
        tally_calls.tally(OWNER),
        fleet_calls.mentions(OWNER),
    ]
    of_index: list[Call[Any]] = [
        fleet_calls.depth(),
        fleet_calls.jobs(10),
        fleet_calls.spent("t"),
        fleet_calls.dead_letters(),
        fleet_calls.dead_drop("j"),
    ]
    look = account_calls.look(ACCOUNT)
    return [sweep, fleet_calls.tick_lock("w", 5), look, *of_index, *of_session]


def all_calls() -> list[Call[Any]]:
    """At least one call of each script."""
    return [
        *session_script_calls(),
        *fleet_script_calls(),
        *blob_script_calls(),
        *tenant_script_calls(),
        *account_script_calls(),
        *limits_calls(),
        *reading_or_locking(),
    ]


def test_every_script_is_covered_here() -> None:
    """No script escapes the tests of this file."""
    assert {call.script for call in all_calls()} == set(script_names())


@pytest.mark.parametrize("call", all_calls(), ids=lambda call: call.script)
def test_a_script_touches_one_tag_and_only_its_keys(
    store: SyncStore, database: Database, call: Call[Any]
) -> None:
    """After a script ran on an empty server, only keys that it was given are there, all of one owner."""
    assert len({hash_tag(key) for key in call.keys}) == 1
    store.run(call)
    there = {key.decode() for key in database.scan_iter() if b"{test}" not in key}
    assert there <= set(call.keys)


@pytest.mark.parametrize(
    "calls",
    [session_script_calls(), blob_script_calls(), account_script_calls()],
    ids=["session", "blobs", "account"],
)
def test_every_write_of_an_owner_renews_its_lifetime(
    store: SyncStore, database: Database, calls: list[Call[Any]]
) -> None:
    """A key that was about to run out lives on for the whole lifetime once a script wrote to it."""
    for call in calls:
        for key in call.keys:
            database.pexpire(key, SOON_MS)
        store.run(call)
        if call.script not in SILENT:
            assert database.pttl(call.keys[WRITTEN.get(call.script, 0)]) > SOON_MS, call.script
    assert not keys_without_ttl(database)


def test_every_write_of_the_index_renews_its_lifetime(store: SyncStore, database: Database) -> None:
    """All keys of the index live on together, so that it is lost as a whole or not at all."""
    sweep = fleet_calls.sweep(tick=5, max_queue_age=120, ttl=TTL)
    for call in fleet_script_calls():
        for key in call.keys:
            database.pexpire(key, SOON_MS)
        assert store.run(call), call.script
        assert all(database.pttl(key) > SOON_MS for key in call.keys if database.exists(key)), call.script
    database.pexpire(names.fleet("meta"), SOON_MS)
    store.run(sweep)
    assert not keys_without_ttl(database)


def test_a_sweep_that_moves_jobs_renews_the_lifetime(
    store: SyncStore, database: Database, clock: Any
) -> None:
    """Maintenance that writes keeps the index alive as well."""
    store.run(fleet_calls.enqueue(job("s"), ttl=TTL))
    store.run(fleet_calls.take("w", lease=1, max_queue_age=120, ttl=TTL))
    clock.advance(2)
    database.pexpire(names.fleet("meta"), SOON_MS)
    assert store.run(fleet_calls.sweep(tick=5, max_queue_age=120, ttl=TTL)).put_back
    assert database.pttl(names.fleet("meta")) > SOON_MS


def test_the_leak_check_sees_a_key_without_lifetime(database: Database) -> None:
    """The check of every test that uses the store can fail, and leaves the broker's keys alone."""
    database.set("_kombu.binding.x", "1")
    database.set("ebbtide:1:{t:a}:good", "1", px=1000)
    assert keys_without_ttl(database) == []
    database.set("ebbtide:1:{t:a}:leak", "1")
    assert keys_without_ttl(database) == [b"ebbtide:1:{t:a}:leak"]
    database.delete("ebbtide:1:{t:a}:leak")


def test_only_declarations_may_stay_for_good(store: SyncStore, database: Database) -> None:
    """What was applied of a tenant is no leak; anything else of it would be."""
    for call in (*tenant_script_calls(), *limits_calls(), *fleet_script_calls()):
        store.run(call)
    assert database.ttl(names.fleet("limits")) == -1
    assert keys_without_ttl(database) == []
    database.persist(names.tenant_block(OWNER.tenant))
    assert keys_without_ttl(database) == [names.tenant_block(OWNER.tenant).encode()]
    database.delete(names.tenant_block(OWNER.tenant))


PIECES = st.sampled_from(
    [":", "{", "}", "/", "%", "%3A", " ", "a", "b", "s", "t", "rec", "fleet", "é", "\U0001f600"]
)
NAMES = st.one_of(
    st.lists(PIECES, min_size=1, max_size=6).map("".join),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12),
)


def keys_of(owner: Owner) -> set[str]:
    """Every kind of key that belongs to a session or its tenant."""
    mine = {owner.state, owner.record(1), owner.manifest("m"), owner.segment("d"), owner.tally}
    mine |= {owner.review, owner.memos}
    return mine | {names.memo(owner.tenant, "d")}


@given(NAMES, NAMES, NAMES, NAMES)
def test_names_never_collide(t1: str, s1: str, t2: str, s2: str) -> None:
    """Two sessions share a key only if they are the same, and a memo only if their tenant is."""
    one, two = Owner.of(t1, s1), Owner.of(t2, s2)
    shared = keys_of(one) & keys_of(two)
    if one == two:
        assert shared == keys_of(one)
    else:
        assert shared == ({names.memo(t1, "d")} if t1 == t2 else set())
        assert one.member != two.member
        assert hash_tag(one.state) != hash_tag(two.state)
    assert names.fleet("ready") not in keys_of(one)


@given(NAMES, NAMES)
def test_an_owner_has_one_tag_and_survives_the_index(tenant: str, session_id: str) -> None:
    """All keys of a session hash alike, and its member in the index names it back."""
    owner = Owner.of(tenant, session_id)
    mine = keys_of(owner) - {names.memo(tenant, "d")}
    assert len({hash_tag(key) for key in mine}) == 1
    assert Owner.from_member(owner.member) == owner
    assert owner.member.count("/") == 1
    assert {Owner.from_key(key) for key in mine} == {owner}
    assert {owner.kind(key) for key in mine} == {"state", "rec", "man", "seg", "tally", "review", "memos"}


def test_the_split_between_tenant_and_session_counts() -> None:
    """`a:b` of `c` is not `a` of `b:c`."""
    assert Owner.of("a:b", "c").state != Owner.of("a", "b:c").state
