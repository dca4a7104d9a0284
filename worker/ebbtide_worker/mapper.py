"""Summaries of all chunks of a job, side by side; what a memo holds is not paid again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide_core import metrics
from ebbtide_core.contract.record import ChunkStatus
from ebbtide_core.jsonio import digest
from ebbtide_core.metrics import Recorder
from ebbtide_core.summary.model import Summary
from ebbtide_worker.calls import Calls
from ebbtide_worker.memos import Memos
from ebbtide_worker.summarisers.base import Chunk, Partial, Summariser, Terms


@dataclass(frozen=True, slots=True)
class Mapped:
    """One chunk's partial, and whether it was made or found."""

    partial: Partial
    status: ChunkStatus


class Halted(Exception):
    """A call that was not begun, since another of the job had failed."""


def memo_name(chunk: Chunk, summariser: Summariser, terms: Terms) -> str:
    """Return the name of a chunk's memo: all that its summary depends on (32 hex digits)."""
    asked = (terms.instructions,) if terms.instructions else ()
    parts = (summariser.fingerprint, terms.language, str(terms.max_tokens), *asked, chunk.label, chunk.text)
    return digest(b"ebbtide/memo/1", *(part.encode() for part in parts)).hex()


class Mapper:
    """Maps the chunks of one attempt. `used` names the memos that its partials stand in, found or made."""

    def __init__(
        self,
        summariser: Summariser,
        terms: Terms,
        calls: Calls,
        memos: Memos,
        recorder: Recorder,
    ) -> None:
        self._summariser = summariser
        self._terms = terms
        self._calls = calls
        self._memos = memos
        self._recorder = recorder
        self._failed = False
        self.used: list[str] = []

    async def run(self, chunks: Sequence[Chunk]) -> list[Mapped]:
        """Return the partials in the order of the chunks.

        When a call fails no other is begun; those under way end, and are memoised, before the first failure
        is raised. Cancelled, it cancels them all.
        """
        if not chunks:
            return []
        names = [memo_name(chunk, self._summariser, self._terms) for chunk in chunks]
        found = await self._memos.read(names)
        work = (self._one(*each) for each in zip(chunks, names, found, strict=True))
        results = await asyncio.gather(*work, return_exceptions=True)
        errors = [r for r in results if isinstance(r, BaseException) and not isinstance(r, Halted)]
        if errors:
            raise errors[0]
        return [result for result in results if isinstance(result, Mapped)]

    async def forget(self) -> None:
        """Delete the memos that were used: a summary made of them failed."""
        if self.used:
            await self._memos.drop(self.used)

    async def _one(self, chunk: Chunk, name: str, memo: Summary | None) -> Mapped:
        status = ChunkStatus.SUMMARISED if memo is None else ChunkStatus.MEMOISED
        partial = await self._made(chunk, name) if memo is None else Partial(memo, label=chunk.label)
        self.used.append(name)
        self._recorder.count(metrics.CHUNKS, status=status.value)
        return Mapped(partial, status)

    async def _made(self, chunk: Chunk, name: str) -> Partial:
        try:
            partial = await self._calls.run(lambda: self._call(chunk))
            await self._memos.keep(name, partial.summary)
        except Exception:
            self._failed = True
            raise
        return Partial(partial.summary, partial.usage, chunk.label)

    async def _call(self, chunk: Chunk) -> Partial:
        if self._failed:
            raise Halted
        return await self._summariser.map(chunk, self._terms)
