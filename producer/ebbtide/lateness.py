"""How late an event loop is."""

from __future__ import annotations

import asyncio
from typing import Final, Self

EVERY: Final = 0.01
"""Seconds between two looks."""


class Lateness:
    """`with Lateness() as late:` `late.worst` is the longest, in seconds, that the running loop was held up
    since the block began: by a callback or another task, or by want of a processor."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._loop = asyncio.get_running_loop()
        self._look_again()

    def _look_again(self) -> None:
        self._due = self._loop.time() + EVERY
        self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        self.worst = max(self.worst, self._loop.time() - self._due)
        self._look_again()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
