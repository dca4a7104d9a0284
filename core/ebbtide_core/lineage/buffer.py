"""Reading a buffer: what each message is, and which chain the whole stands for.

System and developer messages and ephemeral ones are outside the lineage. The first other message may be a
summary message: it sets the chain to its position, and the messages right after it that it lists as carried
are skipped. All other messages are spoken: each adds one to the chain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import itemgetter
from typing import Any

from ebbtide_core.contract.record import Carried
from ebbtide_core.dialects.base import NO_TIES, Base, Dialect, Message, PlainMessage, Ties
from ebbtide_core.dialects.light import beyond_canonical
from ebbtide_core.errors import InputError, LimitError
from ebbtide_core.jsonio import equal, plain, repaired
from ebbtide_core.lineage.canonical import canonical_or_repaired, message_digest
from ebbtide_core.lineage.chain import Chain, Position, link, origin
from ebbtide_core.lineage.grown import Grown
from ebbtide_core.lineage.issues import OF_ONE_MESSAGE, Issue, IssueKind, Pairing
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
    `size` is the most bytes that its text has, `fixed` the tokens of its images and documents. `request` is
    the length in characters of what a user says in it (0: not a user's words). `repair`: it holds lone
    surrogates. `ties`: what binds it to others beyond calls and results. The message itself is at the same
    index of the buffer's `passed`.
    """

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
    ties: Ties = NO_TIES

    @property
    def part(self) -> bool:
        """Is it one of several messages that an answer comes as?"""
        return self.ties.part

    @property
    def is_base(self) -> bool:
        """Does it hold the provider's own compaction, behind which nothing before it is read?"""
        return self.ties.base is not Base.NONE

    @property
    def bound(self) -> int:
        """Tokens that the message can't exceed: one a byte, images and documents at their cost."""
        return self.size + self.fixed + 1

    @property
    def system(self) -> bool:
        """Is it a system or developer message?"""
        return self.kind is Kind.SYSTEM


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer as read: its messages as `passed`, an entry for each, its chain, its summary if it has one.

    `altered` are the indices of messages that are sent otherwise than they are kept.
    """

    dialect: Dialect
    entries: Grown[Entry]
    chain: Chain
    passed: tuple[Message, ...] = ()
    summary: Marked | None = None
    opened: bool = False
    awaited: tuple[Carried, ...] = ()
    issues: tuple[Issue, ...] = ()
    altered: tuple[int, ...] = ()
    pairing: Pairing = field(default_factory=Pairing, compare=False, repr=False)

    @property
    def messages(self) -> list[Message]:
        """The messages as the host passed them."""
        return list(self.passed)

    @property
    def view(self) -> list[Message]:
        """The messages as they are sent."""
        view = list(self.passed)
        for index in self.altered:
            view[index] = self.sent(index)
        return view

    def sent(self, index: int) -> Message:
        """Return a message as it is sent: without marks, lone surrogates replaced; the same object if it may
        be.
        """
        entry, message = self.entries[index], self.passed[index]
        if entry.repair:
            value: Message = repaired(unmarked(plain(message)))
            return value
        return unmarked(plain(message)) if entry.marks is not NONE else message

    def continues(self, earlier: Buffer) -> bool:
        """Say whether this buffer was read on from an earlier one: it begins with all that is in that."""
        count = len(earlier.entries)
        return count == 0 or (
            len(self.entries) >= count and self.entries[count - 1] is earlier.entries[count - 1]
        )

    def begins(self, messages: tuple[Message, ...]) -> bool:
        """Say whether messages begin with all that is in this buffer, so that it need not be read again.

        They may be the very objects or equal ones. So a message changed in place is not noticed, nor one in
        which 1 became True: what is uploaded, or swapped for the first time, is read anew before.
        """
        return equal(messages[: len(self.passed)], self.passed)

    def shared(self, messages: tuple[Message, ...]) -> int:
        """Return how many messages both begin with, alike as `begins` means it."""
        most = range(min(len(messages), len(self.passed)))
        return bisect_left(most, True, key=lambda i: not equal(messages[: i + 1], self.passed[: i + 1]))

    def first(self, count: int) -> Buffer | None:
        """Return the buffer of the first messages; None when it can't be told without reading them.

        That is so before the first spoken one, which ends what a summary carries.
        """
        entries = self.entries[:count]
        if not any(entry.kind is Kind.SPOKEN for entry in entries):
            return None
        own: defaultdict[int, list[Issue]] = defaultdict(list)
        for issue in self.issues:
            if issue.kind in OF_ONE_MESSAGE:
                own[issue.index].append(issue)
        pairing, issues = Pairing(), list[Issue]()
        for index, entry in enumerate(entries):
            issues += [*pairing.add(index, entry), *own.get(index, ())]
        digests = self.chain.digests[: entries[-1].count - self.chain.base.count]
        return replace(
            self,
            entries=Grown(entries),
            chain=Chain(self.chain.base, Grown(digests)),
            passed=self.passed[:count],
            opened=True,
            awaited=(),
            issues=tuple(issues),
            altered=tuple(index for index in self.altered if index < count),
            pairing=pairing,
        )


def empty(dialect: Dialect) -> Buffer:
    """Return the buffer without messages."""
    return Buffer(dialect, Grown(), Chain(origin(dialect.name)))


def read(messages: Sequence[Message], dialect: Dialect, *earlier: Buffer) -> Buffer:
    """Return the messages as a buffer; what an earlier buffer read already is not read again.

    Messages count as read when they are the same at the same place, from the first on to one that differs.
    Raises InputError or LimitError, naming index and path, for anything that is no list of messages or is
    larger than the documented limits.
    """
    if not isinstance(messages, list | tuple):
        raise InputError(f"messages must be a list, not {type(messages).__name__}", path="messages")
    if len(messages) > MAX_BUFFER_MESSAGES:
        raise LimitError(f"{len(messages)} messages, at most {MAX_BUFFER_MESSAGES} allowed", path="messages")
    passed = tuple(messages)
    known = _known(passed, [b for b in earlier if b.dialect.name == dialect.name]) or empty(dialect)
    if len(known.entries) == len(passed):
        return replace(known, passed=passed)
    reader = _Reader(known)
    for index in range(len(known.entries), len(passed)):
        reader.add(passed[index], index)
    return reader.buffer(passed)


def _known(passed: tuple[Message, ...], earlier: Sequence[Buffer]) -> Buffer | None:
    """Return what needs no reading: an earlier buffer as a whole, or else the longest beginning of one."""
    whole = next((buffer for buffer in earlier if buffer.begins(passed)), None)
    if whole is not None or not earlier:
        return whole
    count, nearest = max(((b.shared(passed), b) for b in earlier), key=itemgetter(0))
    return nearest.first(count)


def checked(message: Any, index: int, dialect: Dialect) -> PlainMessage:
    """Return the message as plain JSON. Raises InputError unless it is an object that has a role or, in its
    dialect, needs none."""
    try:
        value = plain(message)
    except InputError as error:
        raise error.at(index) from None
    if not isinstance(value, Mapping):
        raise InputError(f"a message is an object, not {type(message).__name__}", index=index)
    found = value if type(value) is dict else dict(value)
    if not dialect.role(found):
        raise InputError("a message has a role", index=index, path="role")
    return found


class _Reader:
    """The fold over a buffer's messages."""

    def __init__(self, known: Buffer) -> None:
        self._dialect = known.dialect
        self._known = known
        self._entries: list[Entry] = []
        self._base = known.chain.base
        self._digests: list[bytes] = []
        self._last = known.chain.tip
        self._summary = known.summary
        self._opened = known.opened
        self._awaited = known.awaited
        self._met = 0
        self._index = -1
        self._issues: list[Issue] = []
        self._pairing = known.pairing.going_on(known.entries)
        self._altered: list[int] = []

    def buffer(self, passed: tuple[Message, ...]) -> Buffer:
        known = self._known
        return Buffer(
            dialect=self._dialect,
            entries=known.entries.grown(self._entries),
            chain=Chain(self._base, known.chain.digests.grown(self._digests)),
            passed=passed,
            summary=self._summary,
            opened=self._opened,
            awaited=self._awaited[self._met :],
            issues=known.issues + tuple(self._issues),
            altered=known.altered + tuple(self._altered),
            pairing=self._pairing,
        )

    def add(self, message: Message, index: int) -> None:
        value = checked(message, index, self._dialect)
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
            self._last = Position(self._last.count + 1, link(self._last.digest, form))
            self._digests.append(self._last.digest)
        entry = self._entry(value, marks, name, kind, repair, len(form))
        self._entries.append(entry)
        self._note(entry, value, index)

    def _note(self, entry: Entry, value: PlainMessage, index: int) -> None:
        """Keep what later turns ask of the whole buffer."""
        if entry.repair or entry.marks is not NONE:
            self._altered.append(index)
        self._issues += self._pairing.add(index, entry)
        if entry.repair:
            self._issues.append(Issue(IssueKind.LONE_SURROGATE, index))
        if not self._dialect.knows(value):
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
        text = self._dialect.text(value) if self._dialect.role(value) == "user" else None
        self._summary = recognise(text) if text is not None else None
        if self._summary is None:
            return False
        self._base = self._last = self._summary.position
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
        self, value: PlainMessage, marks: Marks, name: str, kind: Kind, repair: bool, length: int
    ) -> Entry:
        size, fixed = self._size_of(value, length)
        calls, results = tuple(self._dialect.calls(value)), tuple(self._dialect.results(value))
        count = self._last.count
        return Entry(
            kind=kind,
            digest=name,
            marks=marks,
            calls=calls,
            results=results,
            only_results=bool(results) and self._dialect.only_results(value),
            request=self._request(value, kind, marks),
            size=size,
            fixed=fixed,
            count=count,
            repair=repair,
            ties=self._dialect.ties(value),
            index=self._index if kind is Kind.CARRIED else count - 1 if kind is Kind.SPOKEN else -1,
        )

    def _size_of(self, value: PlainMessage, length: int) -> tuple[int, int]:
        """Return the most bytes that are counted of a message of so many canonical bytes, and its fixed
        cost."""
        beyond = beyond_canonical(value)
        if beyond is not None:
            return length + beyond, 0
        weight = self._dialect.weight(value)
        return len(weight.text.encode()), weight.fixed

    def _request(self, value: PlainMessage, kind: Kind, marks: Marks) -> int:
        if kind not in (Kind.SPOKEN, Kind.CARRIED) or marks.internal or self._dialect.role(value) != "user":
            return 0
        return self._dialect.words(value)


def position_after(buffer: Buffer, index: int) -> Position:
    """Return the position after the first `index` messages of a buffer."""
    return buffer.chain.at(buffer.entries[index - 1].count if index else buffer.chain.base.count)
