"""Locks that a forked child can use: at the moment of the fork another thread of the parent may hold them."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Final
from weakref import WeakSet


class ForkSafeLock:
    """A lock for short sections, `with lock:`. In a forked child it is free."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _LOCKS.add(self)

    def renew(self) -> None:
        """Be free; for a child in which nobody is left who could release it."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


_LOCKS: Final[WeakSet[ForkSafeLock]] = WeakSet()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
