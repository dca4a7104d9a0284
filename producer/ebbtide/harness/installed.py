"""A pool's buffer as run history: the host's own items, wherever the buffer holds their messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ebbtide.harness.contract import CompactionResult
from ebbtide.harness.render import HistoryItem
from ebbtide_core.dialects.base import Message, PlainMessage
from ebbtide_core.jsonio import equal


def installed(
    buffer: Sequence[Message],
    summary: Message,
    history: Sequence[HistoryItem],
    rendered: Sequence[Sequence[PlainMessage]],
) -> CompactionResult:
    """Return the history that a buffer with this summary message stands for.

    `rendered` are the messages of each history item, as they were prepared. An item comes back itself when
    all its messages are in the buffer, else those of them that are.
    """
    owners = _owners(buffer, summary, rendered)
    left = Counter(at for at in owners if at is not None)
    whole = {at for at, count in left.items() if count == len(rendered[at])}
    kept: list[HistoryItem] = []
    emitted: set[int] = set()
    for message, at in zip(buffer, owners, strict=True):
        if at not in whole:
            kept.append(dict(message))
        elif at not in emitted:
            emitted.add(at)
            kept.append(history[at])
    return CompactionResult(
        history=kept,
        summary_content=str(summary["content"]),
        dropped_items=tuple(item for at, item in enumerate(history) if at not in emitted),
        summarizer_response=None,
    )


def _owners(
    buffer: Sequence[Message], summary: Message, rendered: Sequence[Sequence[PlainMessage]]
) -> list[int | None]:
    """Return, for each message of the buffer, the item that it was rendered from; None for the summary.

    A session that was passed equal messages before may hand back those.
    """
    sources = [(at, message) for at, messages in enumerate(rendered) for message in messages]
    places = {id(message): n for n, (_, message) in enumerate(sources)}
    free = dict(enumerate(sources))
    owners: list[int | None] = []
    for message in buffer:
        place = places.get(id(message))
        if place is None and not equal(message, summary):
            place = next((n for n, (_, source) in free.items() if equal(source, message)), None)
        found = free.pop(place, None) if place is not None else None
        owners.append(found[0] if found else None)
    return owners
