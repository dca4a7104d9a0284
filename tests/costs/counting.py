"""Counts what a store client does within a block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ebbtide_core.store.client import StoreStats


@dataclass
class Spent:
    """Round trips by script, and bytes sent and received: of a block, once it is left."""

    trips: Counter[str] = field(default_factory=Counter)
    bytes_out: int = 0
    bytes_in: int = 0


@contextmanager
def spending(stats: StoreStats) -> Iterator[Spent]:
    """Yield what the block spends of a client whose counts these are.

    A script that the server does not know yet is sent twice: run everything once before.
    """
    spent = Spent()
    trips, sent, received = Counter(stats.scripts), stats.bytes_out, stats.bytes_in
    yield spent
    spent.trips = Counter(stats.scripts) - trips
    spent.bytes_out, spent.bytes_in = stats.bytes_out - sent, stats.bytes_in - received
