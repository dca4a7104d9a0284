"""A summariser that does as a test says: names the messages it was shown, waits, fails, keeps a diary."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from ebbtide_core.contract.record import Usage
from ebbtide_core.summary.model import Summary
from ebbtide_worker.summarisers.base import Chunk, Partial, Terms

Before = Callable[[Chunk], Awaitable[None]]

PRICE = Usage(input_tokens=100, output_tokens=10, calls=1)


def shown(summary: Summary) -> list[int]:
    """Return the lineage indices that a summary of `Scripted` says it was shown."""
    return [int(item.removeprefix("saw ")) for item in summary.decisions if item.startswith("saw ")]


async def _nothing(_: Chunk) -> None:
    return


@dataclass
class Scripted:
    """Summarises a chunk as one decision a message. `before` runs before each map, and may raise or wait."""

    name: str = "scripted"
    model: str = "scripted-1"
    fingerprint: str = "scripted/1"
    window: int = 100_000
    before: Before = _nothing
    chunks: list[Chunk] = field(default_factory=list)
    merges: list[tuple[list[str], bool]] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    closed: bool = False

    async def map(self, chunk: Chunk, terms: Terms) -> Partial:
        """Return what was shown."""
        self.chunks.append(chunk)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(0)
            await self.before(chunk)
        finally:
            self.running -= 1
        saw = [f"saw {message.index}" for message in chunk.messages]
        return Partial(Summary(session_intent="told by the chunk", decisions=tuple(saw[-50:])), PRICE)

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Return an intent that names what was merged."""
        self.merges.append(([part.label for part in parts], base is not None))
        return Partial(Summary(session_intent="told by the merge", decisions=("never used",)), PRICE)

    async def close(self) -> None:
        """Note it."""
        self.closed = True

    @property
    def labels(self) -> list[str]:
        """The labels of the chunks in the order of their calls."""
        return [chunk.label for chunk in self.chunks]
