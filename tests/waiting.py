"""Waiting for what another process or thread does, without a fixed sleep."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_until(predicate: Callable[[], bool], description: str, timeout: float = 20.0) -> None:
    """Return once the predicate holds; fail, naming what was awaited, after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not predicate():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {timeout} s: {description}")
        time.sleep(0.01)
