"""Superseded tool results: those that a newer result of the same tool and target makes worthless."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ebbtide_core.budget.boundary import newest_exchange
from ebbtide_core.dialects.base import Block, BlockKind, Message, PlainMessage
from ebbtide_core.lineage.buffer import Buffer, Kind, checked
from ebbtide_core.lineage.exchanges import Answer, exchanges, paired
from ebbtide_core.summary.failures import failures
from ebbtide_core.views.identity import Identity
from ebbtide_core.views.notice import superseded_notice
from ebbtide_core.views.whereabouts import Whereabouts

_LINEAGE: Final = (Kind.SPOKEN, Kind.CARRIED)
_SHORT: Final = 600
_POINTS: Final = re.compile(
    r"\bresult superseded\b|\bunchanged\b|\bnot (?:been )?(?:changed|modified)\b"
    r"|\balready (?:read|shown|seen)\b|\binterrupted\b|\bcancel|\babort|\brejected\b|\bdeclined\b"
    r"|\bdoes ?n[o']t want to proceed\b|\bbackground\b|\bstill running\b|\btimed out\b",
    re.IGNORECASE,
)
"""In a short result: it points to another one, as a placeholder does, or says why there is none."""

_STATUS: Final = re.compile(r"\b(?:return|exit)[ _]?code\W{0,5}[1-9]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Superseded:
    """A result that a newer one of the same tool and target makes worthless.

    `index` is the buffer index of the message that holds it, `digest` and `lineage` are the digest and the
    lineage index of that message's entry. `text` is the placeholder; it names the turn of the newer result:
    the lineage count after its message. `newer` are lineage index and digest of that message.
    """

    index: int
    call_id: str
    digest: str
    lineage: int
    text: str
    newer: tuple[int, str]


def superseded(buffer: Buffer, identity: Identity) -> tuple[Superseded, ...]:
    """Return the superseded results of a buffer, oldest first, in one pass over it.

    The newest result of each identity stays. An error supersedes nothing but the same error; a short result
    that points to another one supersedes nothing and is not superseded. Never among them: what is pinned or
    ephemeral, the newest exchange, exchanges with open calls, results no larger than their placeholder, and
    results whose id stands twice in their message or in that of the call.
    """
    settled = _settled(buffer)
    reader = _Reader(buffer)
    found = [
        gone
        for group in _groups(buffer, identity)
        for gone in _older(group, reader)
        if gone.index in settled and reader.shrinks(gone)
    ]
    return tuple(sorted(found, key=lambda s: (s.index, buffer.entries[s.index].results.index(s.call_id))))


def replaced(buffer: Buffer, gone: Iterable[Superseded]) -> dict[int, Message]:
    """Return, by buffer index, what stands instead of the messages that hold these results of this buffer.

    Each is a copy, in plain JSON, in which the content of those results is their placeholder. All else, marks
    and lone surrogates too, is as it was passed.
    """
    texts: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for one in gone:
        texts[one.index][one.call_id] = one.text
    dialect, passed = buffer.dialect, buffer.passed
    return {
        i: dialect.replace_results(checked(passed[i], i, dialect), instead) for i, instead in texts.items()
    }


def _settled(buffer: Buffer) -> frozenset[int]:
    """Return the indices of messages whose results may change."""
    entries = buffer.entries
    runs = exchanges(entries)
    newest = newest_exchange(entries, runs)
    before = runs[: len(runs) - 1 if newest is None else newest]
    inside = (i for run in before if not run.open for i in range(run.start, run.stop))
    return frozenset(i for i in inside if entries[i].kind in _LINEAGE and not entries[i].marks.pinned)


def _groups(buffer: Buffer, identity: Identity) -> Iterator[list[Answer]]:
    """Yield the results of calls that are alike, in their order, where there are several."""
    entries = buffer.entries
    keys = _keys(buffer, identity)
    groups: defaultdict[bytes, list[Answer]] = defaultdict(list)
    for answer in paired(entries)[0]:
        key = keys.get((answer.caller, answer.call_id))
        holder = entries[answer.result]
        if key is not None and holder.kind in _LINEAGE and holder.results.count(answer.call_id) == 1:
            groups[key].append(answer)
    yield from (group for group in groups.values() if len(group) > 1)


def _keys(buffer: Buffer, identity: Identity) -> dict[tuple[int, str], bytes]:
    """Return what tells calls apart, by buffer index and call id, without ids that a message holds twice."""
    keys: dict[tuple[int, str], bytes] = {}
    where, last = Whereabouts(), Kind.SPOKEN
    for i, entry in enumerate(buffer.entries):
        if not entry.calls:
            continue
        if Kind.CARRIED in (entry.kind, last):
            where.lost()
        last = entry.kind
        for block in buffer.dialect.blocks(checked(buffer.passed[i], i, buffer.dialect)):
            arguments = block.arguments if block.text else {}
            if block.kind is not BlockKind.CALL or arguments is None:
                continue
            key = identity.key(block.name, arguments, where.place)
            if key is not None and entry.kind in _LINEAGE and entry.calls.count(block.call_id) == 1:
                keys[i, block.call_id] = key
            where.follow(arguments)
    return keys


@dataclass
class _Reader:
    """Reads the messages that hold results, each once."""

    buffer: Buffer
    _messages: dict[int, PlainMessage] = field(default_factory=dict)
    _blocks: dict[int, dict[str, Block]] = field(default_factory=dict)

    def result(self, answer: Answer) -> Block:
        """Return a result."""
        if answer.result not in self._blocks:
            blocks = self.buffer.dialect.blocks(self._message(answer.result))
            self._blocks[answer.result] = {b.call_id: b for b in blocks if b.kind is BlockKind.RESULT}
        return self._blocks[answer.result][answer.call_id]

    def shrinks(self, gone: Superseded) -> bool:
        """Say whether the result gets smaller by its placeholder, images and documents included."""
        dialect, message = self.buffer.dialect, self._message(gone.index)
        smaller = dialect.replace_results(message, {gone.call_id: gone.text})
        if len(self._blocks[gone.index][gone.call_id].text) > len(gone.text):
            return smaller != message
        before, after = dialect.weight(message), dialect.weight(smaller)
        return (after.fixed, len(after.text)) < (before.fixed, len(before.text))

    def _message(self, index: int) -> PlainMessage:
        if index not in self._messages:
            self._messages[index] = checked(self.buffer.passed[index], index, self.buffer.dialect)
        return self._messages[index]


def _older(group: Sequence[Answer], reader: _Reader) -> Iterator[Superseded]:
    """Yield the results of one identity that newer ones supersede."""
    entries = reader.buffer.entries
    success: Answer | None = None
    errors: dict[str, Answer] = {}
    for answer in reversed(group):
        result = reader.result(answer)
        if _points(result.text):
            continue
        newer = success or errors.get(result.text)
        if newer is not None:
            entry, by = entries[answer.result], entries[newer.result]
            text = superseded_notice(by.index + 1)
            yield Superseded(
                answer.result, answer.call_id, entry.digest, entry.index, text, (by.index, by.digest)
            )
        elif _failed(result):
            errors[result.text] = answer
        else:
            success = answer


def _points(text: str) -> bool:
    return len(text) <= _SHORT and _POINTS.search(text) is not None


def _failed(result: Block) -> bool:
    """Say whether a result reports a failure: few formats have a mark for that."""
    text = result.text
    return result.is_error or _STATUS.search(text) is not None or bool(failures(text, is_error=False))
