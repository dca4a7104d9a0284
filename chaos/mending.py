"""What an operator does once a key works again or credit was added: lifts the blocks that stand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import redis

from ebbtide_core import names

FOR: Final = 5.0
"""Seconds in which a call that failed before may still tell of it, and bring the block back."""

EVERY: Final = 1.0
TIMEOUT: Final = 0.2
_ANY: Final = "ANY"


class Mending:
    """Lifts blocks for a while after each `begin`, as soon as the store at a URL lets it."""

    def __init__(self, tenants: Sequence[str]) -> None:
        self._tenants = tenants
        self._until = self._next = 0.0

    def begin(self) -> None:
        """Lift all blocks from now on, for as long as failed calls may bring them back."""
        now = time.monotonic()
        self._next, self._until = now, now + FOR

    def tick(self, url: str) -> None:
        """Lift the blocks if that is due; a store that is away has it done later."""
        now = time.monotonic()
        if not self._next <= now < self._until:
            return
        self._next = now + EVERY
        try:
            lift(url, self._tenants)
        except (redis.RedisError, OSError):
            self._until = now + FOR


def lift(url: str, tenants: Sequence[str]) -> None:
    """Lift the blocks of tenants and of all accounts. Raises RedisError when the store does not answer."""
    client: Any = redis.Redis.from_url(url, socket_timeout=TIMEOUT, retry=None)
    with client:
        accounts = client.scan_iter(match=names.account(_ANY).replace(_ANY, "*"), count=1_000)
        client.unlink(*map(names.tenant_block, tenants), *accounts)
