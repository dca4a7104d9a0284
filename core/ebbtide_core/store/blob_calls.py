"""Uploads, records and memos: sealed bytes under keys that `names` built. Lifetimes are in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebbtide_core import names
from ebbtide_core.store.script import Call, ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ebbtide_core.names import Owner


def missing(keys: Sequence[str], *, ttl: float) -> Call[tuple[str, ...]]:
    """Return which of a session's segment and manifest keys are absent; the others live on for `ttl`."""
    asked = tuple(keys)
    return Call("missing", asked, (ms(ttl),), lambda places: tuple(asked[i - 1] for i in places))


def put(values: Mapping[str, bytes], *, ttl: float) -> Call[int]:
    """Store values of one owner under their keys, and return how many."""
    return Call("put", tuple(values), (ms(ttl), *values.values()), int)


def get(key: str) -> Call[bytes | None]:
    """Return the value of a key, None when absent."""
    return Call("get", (key,), (), _only)


def get_many(keys: Sequence[str]) -> Call[tuple[bytes | None, ...]]:
    """Return the values of one owner's keys in their order, None for those that are absent."""
    return Call("get", tuple(keys), (), tuple)


def record_get(owner: Owner, version: int) -> Call[bytes | None]:
    """Return a version's compressed record, None when it is not kept any more."""
    return get(owner.record(version))


def memo_get(tenant: str, digests: Sequence[str]) -> Call[tuple[bytes | None, ...]]:
    """Return a tenant's memos in the order of the digests, None for those that are absent or forgotten."""
    return Call("get", _memos(tenant, digests), (), lambda values: tuple(value or None for value in values))


def memo_put(tenant: str, digest: str, value: bytes, *, ttl: float) -> Call[bool]:
    """Store a memo unless there is one, or it has been forgotten; says whether it was stored."""
    return Call("put_new", _memos(tenant, [digest]), (ms(ttl), value), bool)


def memo_drop(tenant: str, digests: Sequence[str]) -> Call[int]:
    """Delete memos of a tenant, those of a job that failed validation, and return how many there were."""
    return Call("drop", _memos(tenant, digests), (), int)


def memo_forget(tenant: str, digests: Sequence[str], *, ttl: float) -> Call[int]:
    """Empty memos of a tenant, and return how many held something.

    For `ttl` seconds none of them can be stored again: a worker may still be about to.
    """
    return Call("empty", _memos(tenant, digests), (ms(ttl),), int)


def memos_full(tenant: str, digests: Sequence[str]) -> Call[int]:
    """Count the memos of a tenant that hold something."""
    return Call("full", _memos(tenant, digests), (), int)


def unlink(keys: Sequence[str]) -> Call[int]:
    """Remove keys of one owner, of whatever type, and return how many there were."""
    return Call("unlink", tuple(keys), (), int)


def _memos(tenant: str, digests: Sequence[str]) -> tuple[str, ...]:
    return tuple(names.memo(tenant, digest) for digest in digests)


def _only(reply: Any) -> bytes | None:
    (value,) = reply
    return None if value is None else bytes(value)
