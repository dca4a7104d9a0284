"""The protocol that each provider's message format fulfils."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

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

    `text`: the words (of text and thinking), a result's text, a call's arguments as compact JSON, else "".
    `name`: the tool of a call. `call_id`: pairs call and result. `arguments`: a call's input as an object
    (None when it is no JSON object). `is_error`: a result that reports a failure.
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


class Dialect(Protocol):
    """One provider's message format. All methods take messages that went through `jsonio.plain`.

    Methods never raise on a message that is an object with a string role: unknown blocks are OTHER, missing
    or odd contents are empty.
    """

    name: str

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

    def violations(self, messages: Sequence[PlainMessage]) -> list[Violation]:
        """Return the provider's rules that a request with these messages breaks."""
