"""The tally: how often what happened to a session's jobs."""

from __future__ import annotations

import pytest

from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.tally_calls import MAX_EVENTS, tally, tally_add

OWNER = Owner.of("acme", "chat-42")
TTL = 600.0


@pytest.fixture(autouse=True)
def _state(store: SyncStore) -> None:
    store.run(session_calls.reset(OWNER, fresh_incarnation="i", state_ttl=TTL))


def test_counts_each_event_by_itself(store: SyncStore) -> None:
    """Each event has its own count, and adding tells it."""
    assert [store.run(tally_add(OWNER, e, ttl=TTL)) for e in ("a", "b", "a")] == [1, 1, 2]
    assert store.run(tally(OWNER)) == {"a": 2, "b": 1}


def test_sessions_are_counted_apart(store: SyncStore) -> None:
    """What happened to one session is not in another's tally, and no tally is an empty one."""
    store.run(tally_add(OWNER, "a", ttl=TTL))
    assert store.run(tally(Owner.of("acme", "chat-43"))) == {}


def test_is_bounded(store: SyncStore) -> None:
    """Events beyond the bound are counted together; those known before still count by themselves."""
    for n in range(MAX_EVENTS + 3):
        store.run(tally_add(OWNER, f"event {n}", ttl=TTL))
    store.run(tally_add(OWNER, "event 0", ttl=TTL))
    counts = store.run(tally(OWNER))
    assert len(counts) == MAX_EVENTS + 1
    assert counts["other"] == 3
    assert counts["event 0"] == 2


def test_a_session_without_state_gets_none(store: SyncStore) -> None:
    """A worker that ends its job after the session was forgotten leaves nothing behind."""
    gone = Owner.of("acme", "chat-43")
    assert store.run(tally_add(gone, "neutral:fenced", ttl=TTL)) == 0
    assert store.run(tally(gone)) == {}
