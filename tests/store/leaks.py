"""Which keys would live forever that should not (law 12): a declaration stays until it is taken back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.store.clock import Database


DECLARED: Final = re.compile(rb"ebbtide:\d+:(\{t:[^{}]+\}:policy|\{fleet\}:(default|limits))")
"""What `ebbtide tenant apply` writes."""


def keys_without_ttl(database: Database) -> list[bytes]:
    """Return our keys that would live forever; the broker's own are not ours."""
    return sorted(key for key in database.scan_iter(match="ebbtide:*") if is_leak(database, key))


def is_leak(database: Database, key: bytes) -> bool:
    """Say whether the key would live forever and is no declaration."""
    return database.pttl(key) == -1 and not DECLARED.fullmatch(key)
