"""One summary of many: merged in order, in a tree when they don't fit one call; lists by code, prose by the
model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ebbtide_core.errors import SummaryRejected
from ebbtide_core.summary.fit import fit
from ebbtide_core.summary.merge import merge
from ebbtide_core.summary.message import render
from ebbtide_core.summary.model import Summary
from ebbtide_worker.calls import Calls, Piece, TooMuch
from ebbtide_worker.cancelling import cancelled
from ebbtide_worker.routes import Route
from ebbtide_worker.summarisers.base import PROSE, Partial, Terms

_BASE: Final = 0


@dataclass(frozen=True, slots=True)
class Node:
    """The summary of parts `first` to `last`; parts are numbered from 1, the base summary is number 0."""

    summary: Summary
    first: int
    last: int


def grouped(sizes: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Return runs of neighbours to merge in one call: as many as the room holds, but at least two.

    Only the last run may be a single one, so each round leaves fewer.
    """
    runs: list[tuple[int, int]] = []
    held = 0
    for at, size in enumerate(sizes):
        start, stop = runs[-1] if runs else (0, 0)
        if runs and (stop - start < 2 or held + size <= room):
            runs[-1] = (start, at + 1)
            held += size
        else:
            runs.append((at, at + 1))
            held = size
    return runs


class Reducer:
    """Merges the partials of one attempt."""

    def __init__(self, route: Route, terms: Terms, calls: Calls) -> None:
        self._route = route
        self._terms = terms
        self._calls = calls
        self._room = route.first.window // 2

    async def run(self, parts: Sequence[Summary], base: Summary | None) -> Summary:
        """Return the summary of the base, if there is one, and the parts, given in the order of the
        conversation.

        Raises SummariserFault, and SummaryRejected when there is nothing to merge.
        """
        level = [] if base is None else [Node(base, _BASE, _BASE)]
        level += [Node(part, number, number) for number, part in enumerate(parts, 1)]
        if not level:
            raise SummaryRejected(["there is nothing to summarise"])
        while len(level) > 1:
            level = await self._level(level, len(parts))
        return level[0].summary

    async def _level(self, nodes: Sequence[Node], of: int) -> list[Node]:
        fitted = [Node(self._fitted(node.summary), node.first, node.last) for node in nodes]
        sizes = [self._terms.count(render(node.summary)) for node in fitted]
        groups = (fitted[start:stop] for start, stop in grouped(sizes, self._room))
        merges = [asyncio.ensure_future(self._merged(group, of)) for group in groups]
        try:
            return list(await asyncio.gather(*merges))
        finally:
            await cancelled(*merges)

    def _fitted(self, summary: Summary) -> Summary:
        """Return a summary of which two fit one call."""
        return fit(summary, self._room // 2, self._terms.count)

    async def _merged(self, nodes: Sequence[Node], of: int, start: int = 0) -> Node:
        """Return neighbours merged in one call, or in a smaller tree when they are too much for it.

        A smaller tree is made one call after the other, so that none is paid once another has failed.
        """
        if len(nodes) == 1:
            return nodes[0]
        try:
            return await self._joined(nodes, of, start)
        except TooMuch as told:
            middle = len(nodes) // 2
            first = await self._merged(nodes[:middle], of, told.hop)
            last = await self._merged(nodes[middle:], of, told.hop)
            return await self._merged([first, last], of, told.hop)

    async def _joined(self, nodes: Sequence[Node], of: int, start: int) -> Node:
        base = nodes[0].summary if nodes[0].first == nodes[0].last == _BASE else None
        parts = [_labelled(node, of) for node in (nodes if base is None else nodes[1:])]
        size = sum(self._terms.count(render(node.summary)) for node in nodes)
        piece = Piece(size=size, start=start, shrinkable=len(nodes) > 2)
        answer = await self._calls.run(
            self._route, lambda asked: asked.merge(parts, base, self._terms), piece
        )
        summary = _overlaid(merge([node.summary for node in nodes]), answer.partial.summary)
        return Node(summary, nodes[0].first, nodes[-1].last)


def _labelled(node: Node, of: int) -> Partial:
    first = max(1, node.first)
    numbers = f"part {first}" if first == node.last else f"parts {first} to {node.last}"
    return Partial(node.summary, label=f"{numbers} of {of}")


def _overlaid(merged: Summary, told: Summary) -> Summary:
    """Return what code merged, with the prose that the summariser wrote, as far as it wrote any."""
    prose = {name: getattr(told, name) for name in PROSE if getattr(told, name).strip()}
    return merged.model_copy(update=prose)
