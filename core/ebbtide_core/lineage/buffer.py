"""Reading a buffer: what each message is, and which chain the whole stands for.

System and developer messages and ephemeral ones are outside the lineage. The first other message may be a
summary message: it sets the chain to its position, and the messages right after it that it lists as carried
are skipped. All other messages are spoken: each adds one to the chain.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ebbtide_core.contract.record import Carried
from ebbtide_core.dialects.base import BlockKind, Dialect, Message, PlainMessage
from ebbtide_core.errors import InputError, LimitError
from ebbtide_core.jsonio import plain, repaired
from ebbtide_core.lineage.canonical import canonical_or_repaired, message_digest
from ebbtide_core.lineage.chain import Chain, Position, link, origin
from ebbtide_core.lineage.issues import Issue, IssueKind, Pairing
from ebbtide_core.lineage.marks import NONE, Marks, read_marks, unmarked
from ebbtide_core.policy import MAX_BUFFER_MESSAGES, MAX_MESSAGE_BYTES
from ebbtide_core.summary.message import Marked, recognise


class Kind(StrEnum):
    """What a message is to the buffer it stands in."""

    SYSTEM = "system"
    EPHEMERAL = "ephemeral"
    SUMMARY = "summary"
    CARRIED = "carried"
    SPOKEN = "spoken"


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a buffer as the rules see it.

    `count` is the lineage count after it. `index` is its own lineage index (spoken and carried, else -1).
    `size` is the length of its text in bytes, `fixed` the tokens of its images and documents. `request` is
    the length in characters of what a user says in it (0: not a user's words). `repair`: it holds lone
    surrogates.
    """

    message: Message
    kind: Kind
    digest: str
    marks: Marks
    calls: tuple[str, ...]
    results: tuple[str, ...]
    only_results: bool
    request: int
    size: int
    fixed: int
    count: int
    index: int
    repair: bool

    @property
    def bound(self) -> int:
        """Tokens that the message can't exceed: one a byte, images and documents at their cost."""
        return self.size + self.fixed + 1

    @property
    def sent(self) -> Message:
        """The message as it is sent: without marks, lone surrogates replaced; the same object if it may
        be."""
        if self.repair:
            value: Message = repaired(unmarked(plain(self.message)))
            return value
        return unmarked(plain(self.message)) if self.marks is not NONE else self.message


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer as read: its entries in order, its chain, its summary if it has one.

    `size` is an upper bound of its tokens: one a byte, images and documents at their cost. `touched`: some
    message is sent otherwise than it is kept.
    """

    dialect: Dialect
    entries: tuple[Entry, ...]
    chain: Chain
    summary: Marked | None = None
    opened: bool = False
    awaited: tuple[Carried, ...] = ()
    issues: tuple[Issue, ...] = ()
    pairing: Pairing = field(default_factory=Pairing, compare=False, repr=False)
    size: int = 0
    touched: bool = False

    @property
    def messages(self) -> list[Message]:
        """The messages as the host passed them."""
        return [entry.message for entry in self.entries]

    @property
    def view(self) -> list[Message]:
        """The messages as they are sent."""
        return [entry.sent for entry in self.entries] if self.touched else self.messages

    def starts_with(self, messages: Sequence[Message]) -> bool:
        """Say whether these very objects are the buffer's first messages."""
        return all(map(operator.is_, messages, (entry.message for entry in self.entries)))


def empty(dialect: Dialect) -> Buffer:
    """Return the buffer without messages."""
    return Buffer(dialect, (), Chain(origin(dialect.name)))


def read(messages: Sequence[Message], dialect: Dialect, previous: Buffer | None = None) -> Buffer:
    """Return the messages as a buffer; what `previous` read already is not read again.

    A message counts as read when it is the same object at the same place. Raises InputError or LimitError,
    naming index and path, for anything that is no list of messages or is larger than the documented limits.
    """
    if not isinstance(messages, list | tuple):
        raise InputError(f"messages must be a list, not {type(messages).__name__}", path="messages")
    if len(messages) > MAX_BUFFER_MESSAGES:
        raise LimitError(f"{len(messages)} messages, at most {MAX_BUFFER_MESSAGES} allowed", path="messages")
    known = previous if previous is not None and _continues(messages, previous, dialect) else empty(dialect)
    if len(known.entries) == len(messages):
        return known
    reader = _Reader(known)
    for index in range(len(known.entries), len(messages)):
        reader.add(messages[index], index)
    return reader.buffer()


def _continues(messages: Sequence[Message], previous: Buffer, dialect: Dialect) -> bool:
    return (
        len(messages) >= len(previous.entries)
        and previous.dialect.name == dialect.name
        and previous.starts_with(messages[: len(previous.entries)])
    )


def checked(message: Any, index: int) -> PlainMessage:
    """Return the message as plain JSON. Raises InputError unless it is an object with a role."""
    try:
        value = plain(message)
    except InputError as error:
        raise error.at(index) from None
    if not isinstance(value, Mapping):
        raise InputError(f"a message is an object, not {type(message).__name__}", index=index)
    if not isinstance(value.get("role"), str) or not value["role"]:
        raise InputError("a message has a role", index=index, path="role")
    return dict(value) if type(value) is not dict else value


class _Reader:
    """The fold over a buffer's messages."""

    def __init__(self, known: Buffer) -> None:
        self._dialect = known.dialect
        self._entries = list(known.entries)
        self._base = known.chain.base
        self._digests = list(known.chain.digests)
        self._summary = known.summary
        self._opened = known.opened
        self._awaited = known.awaited
        self._met = 0
        self._index = -1
        self._issues = list(known.issues)
        self._pairing = Pairing(known.pairing)
        self._size = known.size
        self._touched = known.touched

    def buffer(self) -> Buffer:
        return Buffer(
            dialect=self._dialect,
            entries=tuple(self._entries),
            chain=Chain(self._base, tuple(self._digests)),
            summary=self._summary,
            opened=self._opened,
            awaited=self._awaited[self._met :],
            issues=tuple(self._issues),
            pairing=self._pairing,
            size=self._size,
            touched=self._touched,
        )

    def add(self, message: Message, index: int) -> None:
        value = checked(message, index)
        try:
            marks = read_marks(value)
            form, repair = canonical_or_repaired(value, self._dialect)
        except InputError as error:
            raise error.at(index) from None
        if len(form) > MAX_MESSAGE_BYTES:
            raise LimitError(f"{len(form)} bytes, at most {MAX_MESSAGE_BYTES} allowed", index=index)
        name = message_digest(form)
        kind = self._kind(value, marks, name)
        if kind is Kind.SPOKEN:
            self._digests.append(link(self._digests[-1] if self._digests else self._base.digest, form))
        entry = self._entry(message, value, marks, name, kind, repair)
        self._entries.append(entry)
        self._note(entry, value, index)

    def _note(self, entry: Entry, value: PlainMessage, index: int) -> None:
        """Keep what later turns ask of the whole buffer."""
        self._size += entry.bound
        self._touched = self._touched or entry.repair or entry.marks is not NONE
        if entry.kind is not Kind.SYSTEM:
            self._issues += self._pairing.add(index, entry.calls, entry.results, entry.only_results)
        if entry.repair:
            self._issues.append(Issue(IssueKind.LONE_SURROGATE, index))
        if any(block.kind is BlockKind.OTHER for block in self._dialect.blocks(value)):
            self._issues.append(Issue(IssueKind.UNKNOWN_BLOCK, index))

    def _kind(self, value: PlainMessage, marks: Marks, name: str) -> Kind:
        if self._dialect.is_system(value):
            return Kind.SYSTEM
        if marks.ephemeral:
            return Kind.EPHEMERAL
        if not self._opened:
            self._opened = True
            if self._opens(value):
                return Kind.SUMMARY
        return Kind.CARRIED if self._is_carried(name) else Kind.SPOKEN

    def _opens(self, value: PlainMessage) -> bool:
        text = self._dialect.text(value) if value["role"] == "user" else None
        self._summary = recognise(text) if text is not None else None
        if self._summary is None:
            return False
        self._base = self._summary.position
        self._awaited = self._summary.carried
        return True

    def _is_carried(self, name: str) -> bool:
        """A carried message that the host took out is passed over; the first spoken one ends the carried
        run."""
        for at in range(self._met, len(self._awaited)):
            if self._awaited[at].digest == name:
                self._index = self._awaited[at].index
                self._met = at + 1
                return True
        self._awaited, self._met = (), 0
        return False

    def _entry(
        self, message: Message, value: PlainMessage, marks: Marks, name: str, kind: Kind, repair: bool
    ) -> Entry:
        weight = self._dialect.weight(value)
        calls, results = tuple(self._dialect.calls(value)), tuple(self._dialect.results(value))
        count = self._base.count + len(self._digests)
        return Entry(
            message=message,
            kind=kind,
            digest=name,
            marks=marks,
            calls=calls,
            results=results,
            only_results=bool(results) and self._dialect.only_results(value),
            request=self._request(value, kind, marks),
            size=len(weight.text.encode()),
            fixed=weight.fixed,
            count=count,
            repair=repair,
            index=self._index if kind is Kind.CARRIED else count - 1 if kind is Kind.SPOKEN else -1,
        )

    def _request(self, value: PlainMessage, kind: Kind, marks: Marks) -> int:
        if value["role"] != "user" or kind not in (Kind.SPOKEN, Kind.CARRIED) or marks.internal:
            return 0
        return sum(len(block.text) for block in self._dialect.blocks(value) if block.kind is BlockKind.TEXT)


def position_after(buffer: Buffer, index: int) -> Position:
    """Return the position after the first `index` messages of a buffer."""
    return buffer.chain.at(buffer.entries[index - 1].count if index else buffer.chain.base.count)
