"""Reading an answer of the Messages API. The SDK does not check a 200: nothing in it is taken for granted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anthropic.types import Message

from ebbtide_core.contract.record import Usage
from ebbtide_worker.summarisers.base import FaultKind, Partial, SummariserFault
from ebbtide_worker.summarisers.draft import summary_of

_STOPS: Final = {
    "max_tokens": FaultKind.TRUNCATED,
    "stop_sequence": FaultKind.TRUNCATED,
    "model_context_window_exceeded": FaultKind.TOO_LONG,
    "refusal": FaultKind.REFUSED,
    "tool_use": FaultKind.TOOL_CALL,
    "pause_turn": FaultKind.UNEXPECTED,
}
"""Every way to stop but the one that ends a whole answer."""

_PAID: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}
"""Our names of what is paid for, and the API's."""


def partial_of(answer: object, fields: Sequence[str]) -> Partial:
    """Return the summary that an answer holds, and what it cost.

    Why the model stopped and what it cost is read first, so a fault carries the usage: raises SummariserFault
    of a kind for each stop but the normal one, UNREADABLE for what is no message of the API, and as
    `draft.summary_of`.
    """
    usage = usage_of(answer)
    reason: object = getattr(answer, "stop_reason", None)
    content: object = getattr(answer, "content", None)
    if not (isinstance(answer, Message) and isinstance(reason, str) and isinstance(content, list)):
        raise SummariserFault(FaultKind.UNREADABLE, f"{type(answer).__name__} instead of an answer", usage)
    if reason != "end_turn":
        told = reason if reason in _STOPS else "unknown"
        raise SummariserFault(_STOPS.get(reason, FaultKind.UNEXPECTED), f"stop reason {told}", usage)
    return Partial(summary_of(_text(content), usage, fields), usage)


def usage_of(answer: object) -> Usage:
    """Return what an answer says it cost, 0 for each figure that is missing."""
    told = getattr(answer, "usage", None)
    return Usage(calls=1, **{ours: _figure(getattr(told, theirs, 0)) for ours, theirs in _PAID.items()})


def _figure(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _text(content: list[object]) -> str:
    """Return the words of all text blocks; thinking and unknown blocks are passed over."""
    texts = (getattr(block, "text", None) for block in content if getattr(block, "type", None) == "text")
    return "".join(text for text in texts if isinstance(text, str))
