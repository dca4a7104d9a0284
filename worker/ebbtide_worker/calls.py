"""The paid calls of one attempt: bounded in number, each only while the attempt may go on, all of them
counted.
"""

from __future__ import annotations

from asyncio import Semaphore
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from ebbtide_core import metrics
from ebbtide_core.contract.record import Usage
from ebbtide_core.metrics import Recorder
from ebbtide_worker.slots import Slots
from ebbtide_worker.summarisers.base import Partial, SummariserFault, total

_DIRECTIONS: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
}


class Leased(Protocol):
    """Knows whether an attempt may go on."""

    async def confirm(self) -> None:
        """Raise Stop when it has to end."""


class Calls:
    """Runs calls of a summariser, as many side by side as the job's semaphore and the process's slots allow.
    `usage` is what was paid so far.
    """

    def __init__(self, lease: Leased, job: Semaphore, process: Slots, recorder: Recorder) -> None:
        self._lease = lease
        self._job = job
        self._process = process.join()
        self._recorder = recorder
        self.usage = Usage()

    async def run(self, call: Callable[[], Awaitable[Partial]]) -> Partial:
        """Return the call's partial. Raises Stop, without calling, when the attempt has to end;
        SummariserFault.
        """
        async with self._job, self._process:
            await self._lease.confirm()
            try:
                partial = await call()
            except SummariserFault as fault:
                self._paid(fault.usage)
                raise
        self._paid(partial.usage)
        return partial

    def _paid(self, usage: Usage) -> None:
        self.usage = total((self.usage, usage))
        for name, direction in _DIRECTIONS.items():
            if getattr(usage, name):
                self._recorder.count(metrics.JOB_TOKENS, getattr(usage, name), direction=direction)
