"""Ending tasks for certain."""

from __future__ import annotations

import asyncio
from typing import Any, Final

_AGAIN_SECONDS: Final = 0.5


async def cancelled(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks and return when all have ended; what they return or raise is dropped.

    Asks again until they end: before Python 3.12 `asyncio.wait_for`, which redis-py uses, can swallow a
    cancellation that comes at the moment its own wait ends.
    """
    while pending := {task for task in tasks if not task.done()}:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)
