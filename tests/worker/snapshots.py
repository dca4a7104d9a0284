"""Snapshots for tests of planning: messages of given sizes, made directly."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ebbtide_core.contract.manifest import Figures, Manifest, PolicyDocument
from ebbtide_core.contract.record import Carried
from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.lineage.chain import Position
from ebbtide_core.summary.source import SourceMessage
from ebbtide_worker.snapshot import Snapshot

FIGURES = Figures(
    window=100, soft=70, hard=95, projected=80, outside=1, tail=1, ratio=1.0, summary_max_tokens=10
)


def count(text: str) -> int:
    """A token is a word."""
    return len(text.split())


def words(index: int, number: int) -> str:
    """Return so many different words."""
    return " ".join(f"m{index}w{n}" for n in range(number))


def snapshot(
    sizes: Sequence[int],
    *,
    first: int = 0,
    starts: Sequence[int] | None = None,
    carried: Sequence[int] = (),
    released: Sequence[int] = (),
) -> Snapshot:
    """Return a snapshot of one text message a size; `starts` is where exchanges begin (default: each)."""
    messages = tuple(_message(index, size) for index, size in enumerate(sizes, first))
    stop = first + len(sizes)
    manifest = Manifest(
        dialect="openai",
        model="m",
        base=Position(first, bytes(16)),
        base_version=1 if first else 0,
        base_summary=None,
        position=Position(stop, bytes(16)),
        segments=(),
        tokens=tuple(sizes),
        exchanges=tuple(range(first, stop) if starts is None else starts),
        carried=tuple(Carried(index=i, digest="0" * 32) for i in carried),
        released_from=tuple(Carried(index=i, digest="0" * 32) for i in released),
        figures=FIGURES,
        policy=PolicyDocument(chunk_tokens=100, summary_max_tokens=10),
    )
    forms = tuple(json.dumps([m.index, m.blocks[0].text]).encode() for m in messages)
    return Snapshot(manifest, messages, forms, tuple(_message(index, 3) for index in released))


def _message(index: int, size: int) -> SourceMessage:
    return SourceMessage(index, "user", [Block(BlockKind.TEXT, words(index, size))])
