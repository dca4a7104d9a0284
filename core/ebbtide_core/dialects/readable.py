"""What can be read of documents and of a provider's own doing: words, no payloads, nothing encrypted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ebbtide_core.dialects.parts import string, type_of

_WORDS: Final = (
    "title",
    "context",
    "url",
    "text",
    "stdout",
    "stderr",
    "tool_name",
    "error_code",
    "error_message",
)
_INSIDE: Final = ("source", "content", "tool_references")


def readable(value: Any) -> str:
    """Return the words of a block, of a list of blocks or of a string, a line each."""
    return "\n".join(_words(value))


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [value] if value else []
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
    elif isinstance(value, dict) and type_of(value) != "image":
        yield from (string(value, key) for key in _WORDS if string(value, key))
        if type_of(value) == "text" and "media_type" in value:
            yield from _words(string(value, "data"))
        for key in _INSIDE:
            yield from _words(value.get(key))
