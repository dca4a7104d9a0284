"""The script `look`, and finding sessions: both change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ebbtide_core import names
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.store.client import SCAN_BATCH
from ebbtide_core.store.session_calls import look
from tests.store.session import LEASE, Driver

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database


def test_a_look_tells_what_a_turn_would(session: Driver, store: SyncStore) -> None:
    """All but the ratio, which is a model's, and without the turn being counted."""
    session.turn(ratio=1.5)
    session.publish(5)
    session.claim(10)
    told = session.turn(seq=1)
    seen = store.run(look(session.owner))
    assert seen is not None
    assert (seen.view.ratio, told.ratio) == (None, 1.5)
    for field in ("incarnation", "generation", "newest", "turns", "breaker", "mode", "claim", "headers"):
        assert getattr(seen.view, field) == getattr(told, field)


def test_a_look_changes_nothing(session: Driver, store: SyncStore, database: Database, clock: Clock) -> None:
    """Not even a claim that has run out is freed, though it is no longer shown."""
    session.turn()
    session.claim()
    clock.advance(LEASE + 1)
    database.pexpire(session.owner.state, 5_000)
    before = database.hgetall(session.owner.state)
    seen = store.run(look(session.owner))
    assert seen is not None
    assert seen.view.claim is None
    assert database.hgetall(session.owner.state) == before
    assert database.pttl(session.owner.state) <= 5_000


def test_a_look_tells_how_long_the_session_was_idle(
    session: Driver, store: SyncStore, database: Database
) -> None:
    """By the lifetime that has passed since its state was written."""
    session.turn(state_ttl=600)
    database.pexpire(session.owner.state, 500_000)
    seen = store.run(look(session.owner))
    assert seen is not None
    assert 100 <= seen.idle < 110


def test_failures_in_a_row_are_told(session: Driver, store: SyncStore) -> None:
    """So that an operator sees how near the breaker is."""
    session.turn()
    session.fail(2)
    seen = store.run(look(session.owner))
    assert seen is not None
    assert seen.failures == 2


def test_a_session_without_state_is_none(session: Driver, store: SyncStore, database: Database) -> None:
    """And gets none by being looked at."""
    assert store.run(look(session.owner)) is None
    assert not database.exists(session.owner.state)


def found(store: SyncStore, tenant: str | None = None) -> list[Owner]:
    """Return the sessions that have a state."""
    keys = [key for batch in store.scan(names.states(tenant)) for key in batch]
    return sorted(map(Owner.from_key, keys), key=lambda owner: owner.member)


def test_sessions_are_found_whatever_their_names_hold(store: SyncStore) -> None:
    """Nothing in a name is a wildcard, and a tenant's are found without those of tenants that look alike."""
    owners = [
        Owner(t, s) for t in ("a*", "ab", "a?", "a[b]", "a\\", "a:b", "é") for s in ("*", "c", "]", "state")
    ]
    for owner in owners:
        Driver(store, owner).turn()
    assert found(store) == sorted(owners, key=lambda owner: owner.member)
    for tenant in ("a*", "a?", "a[b]", "a\\", "a:b", "a"):
        assert {o.tenant for o in found(store, tenant)} == ({tenant} if tenant != "a" else set())


def test_many_keys_come_in_batches(store: SyncStore, database: Database) -> None:
    """Each at least once, however many there are."""
    owner = Owner("t", "s")
    keys = {owner.segment(str(n)) for n in range(3 * SCAN_BATCH)}
    pipe = database.pipeline()
    for key in keys:
        pipe.set(key, b"x", px=60_000)
    pipe.execute()
    batches = list(store.scan(owner.pattern))
    assert len(batches) > 1
    assert {key for batch in batches for key in batch} == keys


def test_an_error_among_many_is_told(store: SyncStore, database: Database) -> None:
    """As when each is asked alone."""
    owners = [Owner("t", str(n)) for n in range(3)]
    database.set(owners[2].state, "no hash", px=60_000)
    with pytest.raises(StoreUnavailable, match="WRONGTYPE"):
        store.run_all([look(owner) for owner in owners])


def test_many_looks_take_two_round_trips(store: SyncStore, database: Database) -> None:
    """The first makes sure that the server knows the script, all others go together."""
    owners = [Owner("t", str(n)) for n in range(20)]
    for owner in owners[:10]:
        Driver(store, owner).turn()
    database.script_flush()
    before = store.stats.scripts["look"]
    seen = store.run_all([look(owner) for owner in owners])
    assert store.stats.scripts["look"] - before == 2  # the first by its name, then by its text
    assert [each is not None for each in seen] == [True] * 10 + [False] * 10
    assert store.run_all([]) == []
