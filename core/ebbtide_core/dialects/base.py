"""The protocol that each provider's message format fulfils."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

Message = Mapping[str, Any]
"""One message in its provider's own shape."""

PlainMessage = dict[str, Any]
"""A message as plain JSON, safe to read: only dicts, lists, strings, numbers, booleans, None."""


class BlockKind(StrEnum):
    """What a part of a message is."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"
    RESULT = "result"
    IMAGE = "image"
    DOCUMENT = "document"
    NATIVE = "native"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a message as a reader needs it.

    `text`: the words (of text and thinking), a result's text, a call's arguments as compact JSON, what can be
    read of a document or of the provider's own doing, else "". `name`: the tool of a call or of what the
    provider did. `call_id`: pairs call and result. `arguments`: a call's input as an object (None when it is
    no JSON object). `is_error`: a result that reports a failure.
    """

    kind: BlockKind
    text: str = ""
    name: str = ""
    call_id: str = ""
    arguments: Mapping[str, Any] | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Violation:
    """A provider rule broken by a list of messages: the rule's name, the message's index, one sentence."""

    rule: str
    index: int
    detail: str


@dataclass(frozen=True, slots=True)
class Weight:
    """What a message costs: `text` goes to the tokenizer, `fixed` tokens stand for images and documents."""

    text: str
    fixed: int


class Base(StrEnum):
    """Whether a message holds the provider's own compaction, which stands for all that came before it.

    READABLE: what it says can be read, and so be summarised. SEALED: only the provider can read it.
    """

    NONE = "none"
    READABLE = "readable"
    SEALED = "sealed"


@dataclass(frozen=True, slots=True)
class Ties:
    """What a message is to those around it, beyond the host's calls and results.

    `leads`: the items of the same answer that follow it are refused without it, and it without them. `part`:
    an answer comes as several messages, and this is one of them. `begun`, `ended`: ids of what the provider
    runs itself, begun here and not ended here, or ended here and begun before. `base`: the compaction in it.
    """

    leads: bool = False
    part: bool = False
    begun: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    base: Base = Base.NONE


NO_TIES: Final = Ties()


class Dialect(Protocol):
    """One provider's message format. All methods take messages that went through `jsonio.plain`.

    Methods never raise on a message that is an object with a `role`: unknown blocks are OTHER, missing or odd
    contents are empty.
    """

    name: str

    def role(self, message: PlainMessage) -> str:
        """Return whose message it is in the provider's words: user, assistant, tool, system, …; "" when it
        can't be told.
        """

    def canonical(self, message: PlainMessage) -> PlainMessage:
        """Return the form that is hashed and uploaded.

        A string content becomes one text block; null optional keys of message and block are left out;
        `cache_control` is dropped from blocks (also the nested ones of results), never inside a tool's input;
        the key `ebbtide` is dropped.
        """

    def is_system(self, message: PlainMessage) -> bool:
        """Say whether the message is a system or developer message."""

    def blocks(self, message: PlainMessage) -> Sequence[Block]:
        """Return the message's parts in order."""

    def calls(self, message: PlainMessage) -> Sequence[str]:
        """Return the ids of the calls that the host must answer with results (no server-side tools)."""

    def results(self, message: PlainMessage) -> Sequence[str]:
        """Return the ids of the calls that the message answers."""

    def only_results(self, message: PlainMessage) -> bool:
        """Say whether the message holds results and nothing else."""

    def ties(self, message: PlainMessage) -> Ties:
        """Return what binds the message to others beyond its calls and results."""

    def words(self, message: PlainMessage) -> int:
        """Return the number of characters of the message's text blocks."""

    def knows(self, message: PlainMessage) -> bool:
        """Say whether no block of the message is OTHER."""

    def weight(self, message: PlainMessage) -> Weight:
        """Return what to count: the message's compact JSON without payload data, and fixed costs for that."""

    def text(self, message: PlainMessage) -> str | None:
        """Return the text of a message that holds exactly one text and nothing else, else None."""

    def user(self, text: str) -> PlainMessage:
        """Return a user message with that text."""

    def map_results(self, message: PlainMessage, change: Callable[[str], str]) -> PlainMessage:
        """Return a copy in which each text of a tool result went through `change`; all else is kept."""

    def replace_results(self, message: PlainMessage, texts: Mapping[str, str]) -> PlainMessage:
        """Return a copy in which each result whose call id is a key has that text as its whole content.

        Ids, order, the mark of an error and all that is no such result are kept.
        """

    def violations(self, messages: Sequence[PlainMessage]) -> list[Violation]:
        """Return the provider's rules that a request with these messages breaks."""
