"""The review list: a session's degraded turns, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbtide_core.contract.review import ReviewEntry
from ebbtide_core.names import Owner
from ebbtide_core.store.session_calls import review_add, review_list

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database

OWNER = Owner.of("acme", "chat-42")


def entry(turn: int) -> ReviewEntry:
    """Return what a degraded turn of that number leaves."""
    return ReviewEntry(
        turn=turn,
        action="degrade",
        reason="no_record_in_time",
        rung="truncated",
        projected=9_000,
        sent=7_000,
        window=8_000,
        omitted=12,
        model="claude %d {x} é",
    )


def add(store: SyncStore, turn: int, kept: int = 3) -> int:
    """List a degraded turn."""
    return store.run(review_add(OWNER, entry(turn).to_json(), kept=kept, ttl=600))


def test_entries_come_back_newest_first_with_their_time(store: SyncStore, clock: Clock) -> None:
    """The time is the server's, to the millisecond."""
    add(store, 1)
    first = clock.now_ms
    clock.advance(1.5)
    add(store, 2)
    listed = store.run(review_list(OWNER))
    assert [each.entry for each in listed] == [entry(2), entry(1)]
    assert [each.at for each in listed] == [(first + 1_500) / 1000, first / 1000]


def test_the_newest_are_kept(store: SyncStore) -> None:
    """As many as were last asked for."""
    assert [add(store, turn) for turn in range(1, 6)] == [1, 2, 3, 3, 3]
    assert [each.entry.turn for each in store.run(review_list(OWNER))] == [5, 4, 3]
    assert add(store, 6, kept=1) == 1


def test_nothing_is_listed_at_first(store: SyncStore) -> None:
    """A session without degraded turns has an empty list."""
    assert store.run(review_list(OWNER)) == ()


def test_the_list_outlives_no_turn_by_more_than_its_lifetime(store: SyncStore, database: Database) -> None:
    """Each entry renews the lifetime of all."""
    add(store, 1)
    assert 0 < database.pttl(OWNER.review) <= 600_000


def test_an_entry_of_another_major_is_left_out(store: SyncStore) -> None:
    """What this version can't read does not hide the others."""
    add(store, 1)
    store.run(review_add(OWNER, '{"major":99}', kept=3, ttl=600))
    assert [each.entry.turn for each in store.run(review_list(OWNER))] == [1]
