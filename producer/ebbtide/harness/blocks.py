"""Blocks: the smallest runs of history items that a compaction keeps or summarises as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ebbtide.harness.items import Item
from ebbtide_core.lineage.buffer import Entry, Kind
from ebbtide_core.lineage.exchanges import Exchange, exchanges
from ebbtide_core.lineage.marks import NONE


@dataclass(frozen=True, slots=True)
class Block:
    """History indices that stay together, ephemeral items left out.

    `fixed`: it can't be summarised, for an item is pinned, or an ephemeral one is the call or the result of
    another.
    """

    indices: tuple[int, ...]
    summary: bool = False
    internal: bool = False
    fixed: bool = False


def blocks(items: Sequence[Item]) -> list[Block]:
    """Return the blocks in the order in which they end.

    A call and its results, with all that came in between, are one block; a summary is one by itself, also
    where it stands in between. A result without a call joins the block before it.
    """
    found: list[Block] = []
    for _, block, orphan in sorted(_parts(items), key=lambda part: part[0]):
        if orphan and found and not block.fixed:
            before = found[-1]
            found[-1] = replace(before, indices=before.indices + block.indices, internal=False)
        else:
            found.append(block)
    return found


def _parts(items: Sequence[Item]) -> Iterator[tuple[int, Block, bool]]:
    """Yield each block with the index of its end, and whether it is a result without a call."""
    for index, item in enumerate(items):
        if item.summary:
            yield index, Block((index,), summary=True), False
    for run in exchanges([_entry(item) for item in items]):
        block = _block(items, run)
        if block.indices:
            yield run.stop - 1, block, bool(items[run.start].results)


def _block(items: Sequence[Item], run: Exchange) -> Block:
    span = range(run.start, run.stop)
    indices = tuple(i for i in span if not (items[i].ephemeral or items[i].summary))
    tied = any(items[i].ephemeral and (items[i].calls or items[i].results) for i in span)
    return Block(
        indices,
        internal=all(items[i].internal for i in indices),
        fixed=tied or any(items[i].pinned for i in indices),
    )


def _entry(item: Item) -> Entry:
    kind = Kind.SUMMARY if item.summary else Kind.EPHEMERAL if item.ephemeral else Kind.SPOKEN
    return Entry(
        kind=kind,
        digest="",
        marks=NONE,
        calls=item.calls,
        results=item.results,
        only_results=item.only_results,
        request=0,
        size=0,
        fixed=0,
        count=0,
        index=-1,
        repair=False,
    )
