"""Summaries of all chunks of a job, side by side; what a memo holds is not paid again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ebbtide_core import metrics
from ebbtide_core.contract.record import ChunkStatus
from ebbtide_core.jsonio import digest
from ebbtide_core.metrics import Recorder
from ebbtide_core.summary.merge import merge
from ebbtide_core.summary.model import Summary
from ebbtide_worker.calls import Answer, Calls, Halted, Piece, TooMuch
from ebbtide_worker.memos import Memos
from ebbtide_worker.plan import halves
from ebbtide_worker.routes import Route
from ebbtide_worker.summarisers.base import Chunk, FaultKind, Partial, Summariser, SummariserFault, Terms
from ebbtide_worker.summarisers.extractive import Extractive

MAX_HALVINGS: Final = 2
"""A chunk is at most half of a window as hosts estimate it: a quarter of it fits, or nothing will."""

EXTRACTED_SHARE: Final = 4
"""At most one chunk in so many may be read by rules: a summary of more is not what the host asked for."""

CONTENT: Final = frozenset(
    {
        FaultKind.TOO_LONG,
        FaultKind.TOO_LARGE,
        FaultKind.REFUSED,
        FaultKind.TRUNCATED,
        FaultKind.EMPTY,
        FaultKind.NOT_JSON,
        FaultKind.SCHEMA,
        FaultKind.TOOL_CALL,
    }
)
"""Faults of what a chunk holds: no call about it gives a summary, while those of other chunks do."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """One chunk's partial, whether it was made or found, and by which hop of the route; None: by rules."""

    partial: Partial
    status: ChunkStatus
    hop: int | None


def memo_name(chunk: Chunk, summariser: Summariser, terms: Terms) -> str:
    """Return the name of a chunk's memo: all that its summary depends on (32 hex digits)."""
    asked = (terms.instructions,) if terms.instructions else ()
    parts = (summariser.fingerprint, terms.language, str(terms.max_tokens), *asked, chunk.label, chunk.text)
    return digest(b"ebbtide/memo/1", *(part.encode() for part in parts)).hex()


class Mapper:
    """Maps the chunks of one attempt. `used` names the memos that its partials stand in, found or made."""

    def __init__(self, route: Route, terms: Terms, calls: Calls, memos: Memos, recorder: Recorder) -> None:
        self._route = route
        self._terms = terms
        self._calls = calls
        self._memos = memos
        self._recorder = recorder
        self._lost = 0
        self.used: list[str] = []

    async def run(self, chunks: Sequence[Chunk]) -> list[Mapped]:
        """Return the partials in the order of the chunks.

        When a call fails for good no other is begun; those under way end, and are memoised, before the first
        failure is raised, of those that are not of a chunk's own content if there are any. A few chunks whose
        own content is the trouble are read by rules instead, once all others are there. Cancelled, it cancels
        all calls.
        """
        if not chunks:
            return []
        found = await self._found(chunks)
        work = (self._one(chunk, found, len(chunks)) for chunk in chunks)
        results = await asyncio.gather(*work, return_exceptions=True)
        errors = [each for each in results if isinstance(each, BaseException)]
        unread = [each for each in errors if not isinstance(each, Halted)]
        if unread and not (len(errors) == self._lost and self._bearable(len(chunks))):
            raise min(unread, key=_of_content)
        both = zip(chunks, results, strict=True)
        return [each if isinstance(each, Mapped) else await self._extracted(chunk) for chunk, each in both]

    async def forget(self) -> None:
        """Delete the memos that were used: a summary made of them failed."""
        if self.used:
            await self._memos.drop(self.used)

    async def _found(self, chunks: Sequence[Chunk], start: int = 0) -> dict[str, Summary]:
        """Return what memos hold of these chunks, whichever hop made it, by memo name."""
        names = list(dict.fromkeys(name for chunk in chunks for name in self._names(chunk)[start:]))
        read = zip(names, await self._memos.read(names), strict=True)
        return {name: summary for name, summary in read if summary is not None}

    def _names(self, chunk: Chunk) -> list[str]:
        """Return the names of a chunk's memos, one for each hop."""
        return [memo_name(chunk, hop.summariser, self._terms) for hop in self._route.hops]

    async def _one(self, chunk: Chunk, found: Mapping[str, Summary], of: int) -> Mapped:
        try:
            return self._counted(await self._mapped(chunk, found))
        except SummariserFault as fault:
            self._lost += _of_content(fault)
            if not _of_content(fault) or not self._bearable(of):
                self._calls.halt(admitted=fault.kind is not FaultKind.BLOCKED)
            raise
        except Halted:
            raise
        except Exception:
            self._calls.halt()
            raise

    def _bearable(self, of: int) -> bool:
        return self._lost * EXTRACTED_SHARE <= of

    async def _mapped(
        self, chunk: Chunk, found: Mapping[str, Summary], start: int = 0, halvings: int = 0
    ) -> Mapped:
        """Return a chunk's partial, found or made by a hop from `start` on."""
        for hop, name in enumerate(self._names(chunk)):
            if hop >= start and name in found:
                self.used.append(name)
                return Mapped(Partial(found[name], label=chunk.label), ChunkStatus.MEMOISED, hop)
        answer = await self._made(chunk, start, halvings)
        name = self._names(chunk)[answer.hop]
        await self._memos.keep(name, answer.partial.summary)
        self.used.append(name)
        partial = Partial(answer.partial.summary, answer.partial.usage, chunk.label)
        return Mapped(partial, ChunkStatus.SUMMARISED, answer.hop)

    async def _made(self, chunk: Chunk, start: int, halvings: int) -> Answer:
        piece = Piece(size=chunk.tokens, start=start, shrinkable=halvings < MAX_HALVINGS)
        try:
            return await self._calls.run(self._route, lambda asked: asked.map(chunk, self._terms), piece)
        except TooMuch as told:
            return await self._in_pieces(chunk, told, halvings + 1)

    async def _in_pieces(self, chunk: Chunk, told: TooMuch, halvings: int) -> Answer:
        """Return a chunk's summary, merged by code from those of its pieces.

        They are made one after the other, so that none is paid once another has failed.
        """
        pieces = await asyncio.to_thread(halves, chunk, self._terms.count)
        if len(pieces) < 2:
            raise told.fault
        found = await self._found(pieces, told.hop)
        parts = [await self._mapped(piece, found, told.hop, halvings) for piece in pieces]
        return Answer(Partial(merge([each.partial.summary for each in parts])), told.hop)

    async def _extracted(self, chunk: Chunk) -> Mapped:
        partial = await Extractive().map(chunk, self._terms)
        made = Partial(partial.summary, partial.usage, chunk.label)
        return self._counted(Mapped(made, ChunkStatus.EXTRACTED, None))

    def _counted(self, mapped: Mapped) -> Mapped:
        self._recorder.count(metrics.CHUNKS, status=mapped.status.value)
        return mapped


def _of_content(error: BaseException) -> bool:
    return isinstance(error, SummariserFault) and error.kind in CONTENT


def maker(mapped: Sequence[Mapped]) -> int:
    """Return the hop that made most of the partials, the earlier one of two, the first one when none did."""
    made = Counter(each.hop for each in mapped if each.hop is not None)
    return min(made, key=lambda hop: (-made[hop], hop), default=0)
