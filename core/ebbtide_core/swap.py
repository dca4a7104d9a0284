"""Swap: replacing, in a buffer, everything up to a record's position by its summary message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.dialects.base import Message
from ebbtide_core.errors import NotApplicable
from ebbtide_core.lineage.buffer import Buffer, Entry, Kind
from ebbtide_core.lineage.chain import Position, Relation
from ebbtide_core.lineage.exchanges import bound_to_ephemeral, exchanges
from ebbtide_core.summary.message import recognise, wrap


@dataclass(frozen=True, slots=True)
class Swap:
    """A buffer after a swap. `summary_message` stands for the lineage up to `position`.

    `removed` are the buffer indices, before the swap, of what the summary message replaces: covered messages
    and the old summary message. `carried` are the indices, after the swap, of carried messages.
    """

    version: int
    position: Position
    summary_message: Message
    messages: tuple[Message, ...]
    removed: tuple[int, ...]
    carried: tuple[int, ...]


def applies(position: Position, buffer: Buffer) -> bool:
    """Say whether a record at this position applies: the position lies on the buffer's chain."""
    return buffer.chain.relation(position) is Relation.ON


def usable(headers: Iterable[RecordHeader], buffer: Buffer) -> list[RecordHeader]:
    """Return the records that apply and would shorten the buffer, the farthest along the chain first."""
    base = buffer.chain.base.count
    found = (
        h for h in headers if not h.withdrawn and h.position.count > base and applies(h.position, buffer)
    )
    return sorted(found, key=lambda h: (h.position.count, h.version), reverse=True)


def apply(record: SummaryRecord, buffer: Buffer) -> Swap:
    """Return the buffer with the record swapped in.

    System messages before the position gather after the leading ones (see `heads`); then come the summary
    message, the carried and ephemeral messages from before the position, and the rest as it was.

    Raises NotApplicable when the position is not on the buffer's chain, the record is damaged, a message
    pinned since is not among the carried ones, or an ephemeral one would lose its other half or hide the
    summary from the provider.
    """
    if not applies(record.position, buffer):
        raise NotApplicable(f"version {record.version} at {record.position} is not on the buffer's chain")
    cut = tail_start(buffer, record.position.count)
    kept = _kept(buffer, cut, record)
    _check_ties(buffer, cut, frozenset(kept))
    lead, behind = heads(buffer.entries, cut)
    stays = frozenset((*lead, *behind, *kept))
    summary_message = _summary_message(record, buffer)
    messages = buffer.passed
    return Swap(
        version=record.version,
        position=record.position,
        summary_message=summary_message,
        messages=(
            *(messages[i] for i in lead),
            summary_message,
            *(messages[i] for i in (*behind, *kept)),
            *messages[cut:],
        ),
        removed=tuple(i for i in range(cut) if i not in stays),
        carried=tuple(
            len(lead) + 1 + len(behind) + n
            for n, i in enumerate(kept)
            if buffer.entries[i].kind is not Kind.EPHEMERAL
        ),
    )


def heads(entries: Sequence[Entry], cut: int) -> tuple[list[int], list[int]]:
    """Return the system messages before a cut: those ahead of the summary message, those right behind it.

    They gather after the leading ones. Where none leads, somebody else opens the request, as the Messages API
    demands: then the summary message opens it, and they gather behind that.
    """
    system = [i for i in range(cut) if entries[i].kind is Kind.SYSTEM]
    return (system, []) if system[:1] == [0] else ([], system)


def _summary_message(record: SummaryRecord, buffer: Buffer) -> Message:
    text = wrap(
        record.text,
        version=record.version,
        position=record.position,
        carried=record.carried,
        body=record.body,
    )
    if recognise(text) is None:
        raise NotApplicable(f"version {record.version} is damaged: no buffer would know its summary again")
    return buffer.dialect.user(text)


def tail_start(buffer: Buffer, count: int) -> int:
    """Return the buffer index of the first message that was said after the position."""
    after = (i for i, e in enumerate(buffer.entries) if e.kind is Kind.SPOKEN and e.count > count)
    return next(after, len(buffer.entries))


def _kept(buffer: Buffer, cut: int, record: SummaryRecord) -> list[int]:
    listed = {(c.index, c.digest) for c in record.carried}
    kept = []
    for i, entry in enumerate(buffer.entries[:cut]):
        if entry.kind is Kind.EPHEMERAL or (entry.index, entry.digest) in listed:
            kept.append(i)
        elif entry.marks.pinned and entry.index >= 0:
            raise NotApplicable(f"message {i} was pinned after version {record.version} was begun")
    return kept


def _check_ties(buffer: Buffer, cut: int, kept: frozenset[int]) -> None:
    """Raise NotApplicable when an ephemeral message before the cut would stay without its other half, or
    would have the provider read nothing of the summary."""
    head = buffer.entries[:cut]
    gone = max((i for i, e in enumerate(head) if e.kind is not Kind.SYSTEM and i not in kept), default=-1)
    if any(head[i].is_base for i in kept if i < gone):
        raise NotApplicable("a compaction of the provider's would stay behind the summary and hide it")
    for run in exchanges(head) if any(e.kind is Kind.EPHEMERAL for e in head) else ():
        left = any(head[i].kind is not Kind.SYSTEM and i not in kept for i in range(run.start, run.stop))
        if left and bound_to_ephemeral(head[run.start : run.stop]):
            raise NotApplicable("an ephemeral message came that belongs to a call the record leaves out")
