"""The summariser without a model: extraction by rules. Deterministic, offline, costs nothing."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Sequence
from typing import Final

from ebbtide_core.summary import extractive
from ebbtide_core.summary.merge import merge
from ebbtide_core.summary.model import Summary
from ebbtide_worker.summarisers.base import Chunk, Partial, Terms

_WINDOW: Final = 1 << 40
"""No call is too large: the policy alone says how long a chunk is."""


class Extractive:
    """Finds intent, request, rules, decisions, files, errors, identifiers and obligations by rules."""

    name = "extractive"
    model = ""
    fingerprint = "extractive/1"
    window = _WINDOW

    async def map(self, chunk: Chunk, terms: Terms) -> Partial:
        """Return what rules find in a chunk."""
        extract, reader = extractive.extract, terms.reader
        return Partial(await to_thread(extract, chunk.messages, language=terms.language, reader=reader))

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Return the union of base and parts."""
        told = [part.summary for part in parts]
        return Partial(merge(told if base is None else [base, *told]))

    async def close(self) -> None:
        """Do nothing: there are no connections."""
