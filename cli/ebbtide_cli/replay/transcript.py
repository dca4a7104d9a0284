"""A recorded conversation, and what can be wrong with a file that should hold some."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, get_args

from ebbtide_core.dialects.detect import by_name
from ebbtide_core.errors import InputError
from ebbtide_core.names import checked_name

Format = Literal["anthropic", "openai", "openai_responses"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "compaction"}
)
_OPENAI_ROLES: Final = frozenset({"system", "developer", "tool", "function"})
_RESPONSES: Final = by_name("openai_responses")
_RESPONSES_PARTS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})


class Fault(StrEnum):
    """The kinds of trouble with input; each ends one file, line or transcript and nothing else."""

    UNREADABLE = "unreadable"
    BAD_GZIP = "undecodable gzip"
    TOO_LARGE = "too large"
    EMPTY = "empty"
    NOT_UTF8 = "not UTF-8"
    NOT_JSON = "not JSON"
    NOT_AN_OBJECT = "not an object"
    NO_MESSAGES = "no messages"
    BAD_MESSAGE = "bad message"
    REFUSED = "refused by prepare"
    CRASHED = "crashed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of fault in one file: how often, its first line (0: the file as a whole), and its details."""

    file: str
    line: int
    kind: Fault
    detail: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation in its provider's shape. `file` and `line` say where it was found."""

    id: str
    file: str
    line: int
    format: Format
    system: Any
    tools: Any
    messages: tuple[dict[str, Any], ...]

    @property
    def turns(self) -> tuple[int, ...]:
        """The indices of the messages before which there was a request: each of the assistant's, of an answer
        that comes as several items the first."""
        dialect, found, part = by_name(self.format), [], False
        for index, message in enumerate(self.messages):
            goes_on, part = part, dialect.ties(message).part
            if dialect.role(message) == "assistant" and not (goes_on and part):
                found.append(index)
        return tuple(found)


def guess_format(messages: Iterable[dict[str, Any]]) -> Format:
    """Return the format that the first telling message speaks; plain texts are the same in all."""
    for message in messages:
        if "role" not in message:
            return "openai_responses"
        if message.get("role") in _OPENAI_ROLES or message.get("tool_calls"):
            return "openai"
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        if any(isinstance(b, dict) and _tells_anthropic(b) for b in blocks):
            return "anthropic"
        if any(isinstance(b, dict) and b.get("type") in _RESPONSES_PARTS for b in blocks):
            return "openai_responses"
    return "openai"


def _tells_anthropic(block: dict[str, Any]) -> bool:
    kind = block.get("type")
    return (isinstance(kind, str) and kind in _ANTHROPIC_BLOCKS) or isinstance(block.get("source"), dict)


def first_bad(messages: Sequence[Any]) -> str:
    """Return what is wrong with the first message that is no object with a role, "" when all are.

    An item of the Responses format has its role by its type.
    """
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            return f"message {index} is no object"
        if not _RESPONSES.role(message) or ("role" in message and not _has_role(message)):
            return f"message {index} has no role"
    return ""


def _has_role(message: dict[str, Any]) -> bool:
    return isinstance(message["role"], str) and message["role"] != ""


def usable_id(found: object, fallback: str) -> str:
    """Return the id that a file gives if it can name a session, else the fallback made fit for it."""
    try:
        return checked_name(found, "id")
    except InputError:
        return json.dumps(fallback)[1:-1][-200:]
