"""Uploads, records and memos."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbtide_core.names import Owner, memo
from ebbtide_core.store import blob_calls as blobs

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Database

OWNER = Owner.of("acme", "chat-42")
KEYS = [OWNER.segment("a"), OWNER.segment("b"), OWNER.manifest("m")]
ANY_BYTES = bytes(range(256)) + b"\r\n$-1\r\n"


def test_values_come_back_as_they_were(store: SyncStore) -> None:
    """Compressed bytes, empty ones too, pass unchanged."""
    values = {KEYS[0]: ANY_BYTES, KEYS[1]: b"", KEYS[2]: b"x" * 300_000}
    assert store.run(blobs.put(values, ttl=60)) == 3
    assert [store.run(blobs.get(key)) for key in KEYS] == list(values.values())


def test_an_absent_value_is_none(store: SyncStore) -> None:
    """What was never put, or ran out, is None."""
    assert store.run(blobs.get(KEYS[0])) is None
    assert store.run(blobs.record_get(OWNER, 7)) is None
    store.run(blobs.put({KEYS[1]: b"b"}, ttl=60))
    assert store.run(blobs.get_many(KEYS)) == (None, b"b", None)


def test_only_what_is_missing_is_named(store: SyncStore, database: Database) -> None:
    """The presence check names absent keys in the order asked, in one round trip."""
    assert store.run(blobs.missing(KEYS, ttl=60)) == tuple(KEYS)
    store.run(blobs.put({KEYS[1]: b"b"}, ttl=60))
    before = store.stats.commands
    assert store.run(blobs.missing(KEYS, ttl=60)) == (KEYS[0], KEYS[2])
    assert store.stats.commands == before + 1
    assert database.exists(*KEYS) == 1


def test_the_presence_check_extends_lifetimes(store: SyncStore, database: Database) -> None:
    """What is there lives on for the whole lifetime, so that a job meets it still."""
    store.run(blobs.put(dict.fromkeys(KEYS, b"x"), ttl=5))
    assert store.run(blobs.missing(KEYS[:2], ttl=900)) == ()
    assert database.pttl(KEYS[0]) > 800_000
    assert database.pttl(KEYS[1]) > 800_000
    assert database.pttl(KEYS[2]) <= 5_000


def test_the_first_memo_stays(store: SyncStore) -> None:
    """Two workers that paid for the same chunk agree on one result."""
    assert store.run(blobs.memo_put("acme", "d", b"first", ttl=60))
    assert not store.run(blobs.memo_put("acme", "d", b"second", ttl=60))
    assert store.run(blobs.memo_get("acme", ["d"])) == (b"first",)


def test_a_jobs_memos_are_read_in_one_round_trip(store: SyncStore) -> None:
    """Many memos, more than Lua can pass as arguments, come in order, absent ones as None."""
    digests = [f"d{i}" for i in range(9_000)]
    store.run(blobs.memo_put("acme", "d8999", b"last", ttl=60))
    store.run(blobs.memo_get("acme", []))
    before = store.stats.commands
    memos = store.run(blobs.memo_get("acme", digests))
    assert store.stats.commands == before + 1
    assert memos == (None,) * 8_999 + (b"last",)


def test_memos_of_tenants_are_apart(store: SyncStore) -> None:
    """The same chunk of another tenant is another memo, whatever the tenants are called."""
    names = ["a", "a:memo", "a}:memo:d{", "A", "a%3Amemo"]
    for name in names:
        assert store.run(blobs.memo_put(name, "d", name.encode(), ttl=60))
    assert [store.run(blobs.memo_get(n, ["d"]))[0] for n in names] == [n.encode() for n in names]


def test_memos_are_dropped_with_the_job_that_failed(store: SyncStore, database: Database) -> None:
    """Only the named memos go; the answer says how many there were."""
    for digest in ("a", "b", "c"):
        store.run(blobs.memo_put("acme", digest, b"x", ttl=60))
    assert store.run(blobs.memo_drop("acme", ["a", "b", "z"])) == 2
    assert [database.exists(memo("acme", d)) for d in ("a", "b", "c")] == [0, 0, 1]
