"""What formats share: contents as blocks, optional keys and cache marks, texts, call arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.jsonio import compact, well_formed

MARKS: Final = "ebbtide"
SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_CACHE: Final = "cache_control"


def type_of(block: Mapping[str, Any]) -> str:
    """Return the block's type, "" when it has none or an odd one."""
    return string(block, "type")


def string(holder: Mapping[str, Any], key: str) -> str:
    """Return the string at a key, "" when there is none."""
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def text_block(text: str) -> PlainMessage:
    """Return the block that a bare string stands for, in Messages and Chat."""
    return {"type": "text", "text": text}


def blocks_of(content: Any) -> list[PlainMessage]:
    """Return a content's blocks for reading: a string is a text block, any other odd entry an empty block."""
    if isinstance(content, str):
        return [text_block(content)]
    if not isinstance(content, list):
        return []
    return [b if isinstance(b, dict) else text_block(b) if isinstance(b, str) else {} for b in content]


def canonical_content(content: Any, canonical_block: Callable[[PlainMessage], PlainMessage]) -> Any:
    """Return a content with each block in canonical form and each bare string as a text block."""
    if isinstance(content, str):
        return [text_block(content)]
    if isinstance(content, dict):
        return canonical_block(content)
    if not isinstance(content, list):
        return content
    return [
        canonical_block(b) if isinstance(b, dict) else text_block(b) if isinstance(b, str) else b
        for b in content
    ]


def tidy(block: PlainMessage) -> PlainMessage:
    """Return the object without null keys and without a cache mark; the same object when it has neither."""
    if _CACHE not in block and None not in block.values():
        return block
    return {key: value for key, value in block.items() if value is not None and key != _CACHE}


def unmarked(message: PlainMessage) -> PlainMessage:
    """Return the message without Ebbtide's own key; the same object when it has none."""
    return {key: value for key, value in message.items() if key != MARKS} if MARKS in message else message


def texts_of(content: Any) -> list[str]:
    """Return the texts of a content's text blocks in order."""
    return [string(block, "text") for block in blocks_of(content) if type_of(block) == "text"]


def sole_text(content: Any) -> str | None:
    """Return the text of a content that is one text and nothing else, else None."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or len(content) != 1:
        return None
    (text,) = texts_of(content) or (None,)
    return text


def change_texts(content: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of a content in which each text went through `change`; all else is kept."""
    if isinstance(content, str):
        return change(content)
    if not isinstance(content, list):
        return content
    return [_changed(block, change) for block in content]


def _changed(block: Any, change: Callable[[str], str]) -> Any:
    if isinstance(block, str):
        return change(block)
    if isinstance(block, dict) and type_of(block) == "text" and isinstance(block.get("text"), str):
        return {**block, "text": change(block["text"])}
    return block


def arguments_of(value: Any) -> tuple[str, Mapping[str, Any] | None]:
    """Return a call's arguments as compact JSON and as an object.

    A string that is no JSON is returned as it is; the object is None unless the arguments are one.
    """
    if value is None:
        return "", None
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
        text = compact(parsed)
    except (ValueError, RecursionError):
        return well_formed(value) if isinstance(value, str) else "", None
    return text, parsed if isinstance(parsed, dict) else None
