"""Removing all that the store holds of a session, and looking afterwards what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore

BATCH: Final = 500
"""Keys that one script removes: it holds the server up for less than a millisecond."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a look afterwards found: keys of the session, memos with content, entries of the index."""

    keys: int
    memos: int
    mentions: int

    @property
    def nothing(self) -> bool:
        """Is there no trace of the session?"""
        return not (self.keys or self.memos or self.mentions)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was removed: keys by kind (as `names.Owner.kind` calls them), memos, jobs; and what is `left`."""

    keys: dict[str, int]
    memos: int
    ready: int
    running: int
    left: Left

    @property
    def anything(self) -> bool:
        """Was there anything to remove?"""
        return bool(self.keys or self.memos or self.ready or self.running)


def forget(store: SyncStore, owner: Owner, *, shut: float) -> Forgotten:
    """Remove all of a session, then scan for what is left: nothing, unless a host goes on with the session.

    Workers that run its job can publish nothing more, as its state goes first. For `shut` seconds none of
    its memos can be stored again: give longer than a job may take. Can be run again after it was cut short.
    Raises StoreUnavailable.
    """
    state = store.run(blob_calls.unlink([owner.state]))
    # From here on no worker can note further memos.
    memos = store.run(session_calls.memo_names(owner))
    ready, running = store.run(fleet_calls.forget_member(owner))
    tenant = owner.tenant
    emptied = sum(store.run(blob_calls.memo_forget(tenant, part, ttl=shut)) for part in _parts(memos))
    keys = _unlinked(store, owner) + Counter(state=state)
    return Forgotten(dict(+keys), emptied, ready, running, _left(store, owner, memos))


def _unlinked(store: SyncStore, owner: Owner) -> Counter[str]:
    """Remove the session's keys, the set of its memos last: cut short before, they can still be found."""
    removed: Counter[str] = Counter()
    for found in store.scan(owner.pattern):
        for part in _parts([key for key in found if key != owner.memos]):
            for kind, keys in _by_kind(owner, part).items():
                removed[kind] += store.run(blob_calls.unlink(keys))
    removed[owner.kind(owner.memos)] += store.run(blob_calls.unlink([owner.memos]))
    return removed


def _by_kind(owner: Owner, keys: Sequence[str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for key in keys:
        kinds.setdefault(owner.kind(key), []).append(key)
    return kinds


def _left(store: SyncStore, owner: Owner, memos: Sequence[str]) -> Left:
    keys = {key for found in store.scan(owner.pattern) for key in found}
    full = sum(store.run(blob_calls.memos_full(owner.tenant, part)) for part in _parts(memos))
    return Left(len(keys), full, store.run(fleet_calls.mentions(owner)))


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    return (names[i : i + BATCH] for i in range(0, len(names), BATCH))
