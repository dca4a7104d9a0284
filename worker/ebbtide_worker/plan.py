"""Which messages go into which summariser call. Pure: the same snapshot gives the same plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ebbtide_core.dialects.base import Block
from ebbtide_core.jsonio import digest
from ebbtide_core.summary.source import SourceMessage
from ebbtide_worker.snapshot import Snapshot
from ebbtide_worker.split import split
from ebbtide_worker.summarisers.base import Chunk
from ebbtide_worker.transcript import transcript

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Span:
    """Lineage messages `first` up to, not including, `stop`, the digest of their canonical bytes, and their
    calls.

    One call as a rule, several for an exchange that is too large for one, none when all its messages are
    carried.
    """

    first: int
    stop: int
    digest: str
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls of a job, in the order of the conversation.

    `released` come first: messages that the base carried until now. The spans follow each other without a gap
    from the base to the position.
    """

    released: tuple[Chunk, ...]
    spans: tuple[Span, ...]

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All calls."""
        return (*self.released, *(chunk for span in self.spans for chunk in span.chunks))


def plan(snapshot: Snapshot, budget: int, count: Count) -> Plan:
    """Return the calls that summarise a snapshot, of at most `budget` tokens each.

    Exchanges stay whole unless one alone is over the budget. Carried messages are in a span, but in no call.
    Token figures are the host's, those of split messages by `count`.
    """
    manifest = snapshot.manifest
    first = manifest.base.count
    sizes = [0 if index in snapshot.carried else size for index, size in enumerate(manifest.tokens, first)]
    runs = borders(sizes, first, manifest.exchanges, budget)
    return Plan(
        released=_released(snapshot, budget, count),
        spans=tuple(_span(snapshot, sizes, start, stop, budget, count) for start, stop in runs),
    )


def halves(chunk: Chunk, count: Count) -> tuple[Chunk, ...]:
    """Return the calls that show what one call showed, each at most half of it; a single one when there is
    nothing to divide.
    """
    sizes = [max(1, sum(count(block.text) for block in message.blocks)) for message in chunk.messages]
    shown = list(zip(chunk.messages, sizes, strict=True))
    return _chunks(shown, chunk.label, max(1, sum(sizes) // 2), count)


def borders(sizes: Sequence[int], first: int, exchanges: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """Return runs of whole exchanges, as lineage indices, taken greedily up to the budget from the first on.

    `sizes[i]` are the tokens of message `first + i`, `exchanges` where an exchange begins. What is appended
    later changes no run but the last.
    """
    stop = first + len(sizes)
    starts = sorted({first, *(start for start in exchanges if first < start < stop)})
    runs: list[tuple[int, int]] = []
    held = 0
    for start, end in zip(starts, [*starts[1:], stop], strict=True):
        size = sum(sizes[start - first : end - first])
        if runs and (not held or not size or held + size <= budget):
            runs[-1] = (runs[-1][0], end)
            held += size
        elif start < end:
            runs.append((start, end))
            held = size
    return runs


def _span(snapshot: Snapshot, sizes: Sequence[int], start: int, stop: int, budget: int, count: Count) -> Span:
    first = snapshot.manifest.base.count
    shown = [
        (message, size)
        for message, size in zip(
            snapshot.messages[start - first : stop - first], sizes[start - first :], strict=False
        )
        if message.index not in snapshot.carried
    ]
    return Span(
        first=start,
        stop=stop,
        digest=digest(b"ebbtide/chunk/1", *snapshot.forms[start - first : stop - first]).hex(),
        chunks=_chunks(shown, _numbers("message", start, stop), budget, count),
    )


def _released(snapshot: Snapshot, budget: int, count: Count) -> tuple[Chunk, ...]:
    shown = [(message, count(transcript([message]))) for message in snapshot.released]
    if not shown:
        return ()
    first, last = snapshot.released[0].index, snapshot.released[-1].index
    return _chunks(shown, _numbers("earlier message", first, last + 1), budget, count)


def _numbers(what: str, first: int, stop: int) -> str:
    return f"{what} {first}" if stop - first == 1 else f"{what}s {first} to {stop - 1}"


def _chunks(
    shown: Sequence[tuple[SourceMessage, int]], label: str, budget: int, count: Count
) -> tuple[Chunk, ...]:
    parts = list(_packed(shown, budget, count))
    labels = (
        [label]
        if len(parts) == 1
        else [f"{label}, part {n} of {len(parts)}" for n in range(1, len(parts) + 1)]
    )
    return tuple(
        Chunk(label=name, messages=messages, text=transcript(messages), tokens=size)
        for name, (messages, size) in zip(labels, parts, strict=True)
    )


def _packed(
    shown: Sequence[tuple[SourceMessage, int]], budget: int, count: Count
) -> Iterator[tuple[tuple[SourceMessage, ...], int]]:
    """Yield runs of messages, or of pieces of those that are over the budget themselves, with their size."""
    run: list[SourceMessage] = []
    held = 0
    for message, size in shown:
        for piece, weight in _pieces(message, size, budget, count):
            if run and held + weight > budget:
                yield tuple(run), held
                run, held = [], 0
            if run and run[-1].index == piece.index:
                run[-1] = replace(piece, blocks=[*run[-1].blocks, *piece.blocks])
            else:
                run.append(piece)
            held += weight
    if run:
        yield tuple(run), held


def _pieces(
    message: SourceMessage, size: int, budget: int, count: Count
) -> Iterator[tuple[SourceMessage, int]]:
    if size <= budget:
        yield message, size
        return
    for block in message.blocks:
        for piece in _block_pieces(block, budget, count):
            yield replace(message, blocks=[piece]), max(1, count(piece.text))


def _block_pieces(block: Block, budget: int, count: Count) -> Iterator[Block]:
    """Yield a block, or pieces of its text; only a whole call keeps its arguments."""
    texts = split(block.text, budget, count)
    if len(texts) == 1:
        yield block
        return
    for text in texts:
        yield replace(block, text=text, arguments=None)
