"""Which keys would live forever (law 12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.store.clock import Database


def keys_without_ttl(database: Database) -> list[bytes]:
    """Return our keys that would live forever; the broker's own are not ours."""
    return sorted(key for key in database.scan_iter(match="ebbtide:*") if database.pttl(key) == -1)
