"""Messages that hold nothing but words: their size is known from their canonical form, without weighing."""

from __future__ import annotations

from typing import Any, Final

from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.dialects.parts import MARKS, type_of

_MESSAGE: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name", MARKS})
_CALL: Final = frozenset({"id", "type", "function"})
_FUNCTION: Final = frozenset({"name", "arguments"})
_BLOCKS: Final = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
}
"""The keys that words come with; anything else may be a payload, or be left out of the canonical form."""

_NULL: Final = len('"":null,')


def beyond_canonical(message: PlainMessage) -> int | None:
    """Return how many bytes a message's weight may have beyond its canonical form; None: it must be weighed.

    The canonical form of such a message leaves out nothing but nulls of the message itself.
    """
    if not message.keys() <= _MESSAGE or not _light_content(message.get("content")):
        return None
    calls = message.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and all(map(_light_call, calls))):
        return None
    return sum(len(key) + _NULL for key, value in message.items() if value is None)


def _light_content(content: Any) -> bool:
    if isinstance(content, list):
        return all(map(_light_block, content))
    return content is None or isinstance(content, str)


def _light_block(block: Any) -> bool:
    if not isinstance(block, dict):
        return False
    kind = type_of(block)
    known = _BLOCKS.get(kind)
    if known is None or not block.keys() <= known or None in block.values():
        return False
    return kind != "tool_result" or _light_content(block.get("content"))


def _light_call(call: Any) -> bool:
    if not isinstance(call, dict) or not call.keys() <= _CALL or None in call.values():
        return False
    function = call.get("function")
    return isinstance(function, dict) and function.keys() <= _FUNCTION and None not in function.values()
