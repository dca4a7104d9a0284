"""The local estimate of a request's size: no tokenizer, no model."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ebbtide.harness.constants import BYTES_PER_TOKEN, NON_TEXT_PART_TOKENS
from ebbtide_core.dialects.base import Message

TokenEstimator = Callable[[Sequence[Message]], int]
"""Returns the estimated tokens of messages as `render_request_messages` renders them."""

_TEXT_TYPES: Final = frozenset({"text", "input_text"})


def estimate_message_tokens(messages: Sequence[Message]) -> int:
    """Return the estimated tokens of the messages' contents and tool calls.

    Text costs its UTF-8 bytes divided by four, rounded up; each part of a content that is no text 1,000; any
    other content, and the list of tool calls, as its JSON. Roles, names and ids cost nothing.
    """
    return sum(_content(m.get("content")) + _calls(m.get("tool_calls")) for m in messages)


def as_text(value: Any) -> str:
    """Return the value as JSON, or as Python writes it when it is none."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _content(content: Any) -> int:
    if isinstance(content, list):
        return sum(map(_part, content))
    return _text(content if isinstance(content, str) else as_text(content))


def _part(part: Any) -> int:
    if isinstance(part, str):
        return _text(part)
    if isinstance(part, Mapping) and part.get("type") in _TEXT_TYPES and isinstance(part.get("text"), str):
        return _text(part["text"])
    return NON_TEXT_PART_TOKENS


def _calls(calls: Any) -> int:
    return 0 if calls is None else _text(as_text(calls))


def _text(text: str) -> int:
    return -(-len(text.encode(errors="surrogatepass")) // BYTES_PER_TOKEN)
