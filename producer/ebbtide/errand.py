"""A small piece of background work with the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ebbtide_core.store.client import SyncStore


@dataclass(frozen=True, slots=True)
class Errand:
    """What the background thread does with its store when it comes to it, and goes on whatever becomes of it.

    `place` is where a fault of it is counted.
    """

    place: str
    run: Callable[[SyncStore], object]
