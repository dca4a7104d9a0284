"""Thinking of Anthropic's models: which model binds it to what stood before it, and leaving it out whole.

Source: Anthropic's pages on preserved thinking and on what is new in each model. A model that binds checks a
thinking block's signature against system, tools and all messages before the block; when any of that was
rewritten, it refuses the block and every later one. A signed block is never edited.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.dialects.parts import type_of
from ebbtide_core.dialects.vendor import VENDOR

_KINDS: Final = frozenset({"thinking", "redacted_thinking"})


class Binding(StrEnum):
    """BOUND: thinking is valid only behind the prefix that it was signed for. FREE: wherever it stands."""

    BOUND = "bound"
    FREE = "free"


_TABLE: Final = {
    "claude": Binding.BOUND,
    "claude-1": Binding.FREE,
    "claude-2": Binding.FREE,
    "claude-3": Binding.FREE,
    "claude-4": Binding.FREE,
    "claude-instant": Binding.FREE,
    "claude-haiku-4": Binding.FREE,
    "claude-sonnet-4": Binding.FREE,
    "claude-opus-4": Binding.FREE,
    "claude-sonnet-5": Binding.FREE,
    "claude-opus-5": Binding.FREE,
    "claude-fable-5": Binding.FREE,
    "claude-mythos-5": Binding.FREE,
    "claude-mythos-preview": Binding.FREE,
    "claude-sonnet-5-": Binding.BOUND,
    "claude-opus-5-": Binding.BOUND,
    "claude-fable-5-": Binding.BOUND,
    "claude-mythos-5-": Binding.BOUND,
}
"""By prefix of a model's name without vendor and release, the longest one counts.

From Opus 5.5, Sonnet 5.5, Fable 5.1 and Mythos 5.1 on thinking is bound. Of a model that is newer than this
table it is taken to be bound: thinking left out costs a little quality, thinking refused costs the turn.
"""

_NAME: Final = re.compile(VENDOR + r"(claude[^@:\[]*)", re.IGNORECASE)
_RELEASE: Final = re.compile(r"-(?:20\d{6}|v\d+|latest)\b.*")


def binding(model: str) -> Binding:
    """Return whether a model binds thinking, by its name, which may have a vendor's prefix and a release.

    Models that are not Claude's are FREE.
    """
    found = _NAME.match(model)
    if found is None:
        return Binding.FREE
    name = _RELEASE.sub("", found[1].lower().replace(".", "-"))
    return _TABLE[max((prefix for prefix in _TABLE if _begins(name, prefix)), key=len)]


def _begins(name: str, prefix: str) -> bool:
    """A number ends where the prefix does, and does not go on: claude-opus-50 is no claude-opus-5."""
    return name.startswith(prefix) and (prefix[-1] == "-" or name[len(prefix) :][:1] in ("", "-"))


def has_thinking(message: PlainMessage) -> bool:
    """Say whether the message holds a thinking block, readable or redacted."""
    content = message.get("content")
    return isinstance(content, list) and any(map(_is_thinking, content))


def without_thinking(message: PlainMessage) -> PlainMessage | None:
    """Return the message without its thinking blocks, all else as it was; None when nothing else is in it.

    It is the same object when it holds none.
    """
    if not has_thinking(message):
        return message
    content = [block for block in message["content"] if not _is_thinking(block)]
    return {**message, "content": content} if content else None


def _is_thinking(block: object) -> bool:
    return isinstance(block, dict) and type_of(block) in _KINDS
