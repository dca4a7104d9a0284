"""The Anthropic Messages format: contents of typed blocks, calls and results among them.

What runs at the provider (server tools and their results, uploads, compaction blocks, …) is NATIVE: no calls
for the host, carried through as it is, and what is encrypted in it counts as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ebbtide_core.dialects.anthropic_native import is_native, native_block, ties
from ebbtide_core.dialects.anthropic_rules import violations
from ebbtide_core.dialects.base import NO_TIES, Block, BlockKind, PlainMessage, Ties, Violation, Weight
from ebbtide_core.dialects.parts import (
    SYSTEM_ROLES,
    arguments_of,
    blocks_of,
    canonical_content,
    change_texts,
    sole_text,
    string,
    texts_of,
    tidy,
    type_of,
    unmarked,
)
from ebbtide_core.dialects.payloads import weigh
from ebbtide_core.dialects.readable import readable

_TYPED: Final = frozenset(
    {"text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document", "search_result"}
)
_NESTED: Final = ("content", "source", "citations")
_STRING_IS_TEXT: Final = frozenset({"tool_result", "content"})


class AnthropicMessages:
    """The dialect of Anthropic's Messages API."""

    name: str = "anthropic"

    def role(self, message: PlainMessage) -> str:
        """Return the message's own role."""
        return string(message, "role")

    def canonical(self, message: PlainMessage) -> PlainMessage:
        """Return the form that is hashed and uploaded; parts that need no change are shared with the message.

        Null keys and cache marks go from blocks and from what blocks hold as content, source or citations.
        All else in a block, such as a call's input, is opaque and stays.
        """
        form = tidy(unmarked(message))
        if "content" not in form:
            return form
        return {**form, "content": canonical_content(form["content"], _canonical_block)}

    def is_system(self, message: PlainMessage) -> bool:
        """Say whether the message is a system or developer message."""
        return message["role"] in SYSTEM_ROLES

    def blocks(self, message: PlainMessage) -> Sequence[Block]:
        """Return the message's parts in order."""
        return [_block(block) for block in blocks_of(message.get("content"))]

    def calls(self, message: PlainMessage) -> Sequence[str]:
        """Return the ids of the tool_use blocks."""
        return _ids(message, "tool_use", "id")

    def results(self, message: PlainMessage) -> Sequence[str]:
        """Return the ids that the tool_result blocks answer."""
        return _ids(message, "tool_result", "tool_use_id")

    def only_results(self, message: PlainMessage) -> bool:
        """Say whether the message holds tool_result blocks and nothing else."""
        content = blocks_of(message.get("content"))
        return bool(content) and all(type_of(block) == "tool_result" for block in content)

    def ties(self, message: PlainMessage) -> Ties:
        """Return the provider's tool uses that lack their result in the message, or their beginning, and its
        compaction."""
        content = message.get("content")
        return ties(content) if isinstance(content, list) else NO_TIES

    def words(self, message: PlainMessage) -> int:
        """Return the number of characters of the text blocks."""
        return sum(map(len, texts_of(message.get("content"))))

    def knows(self, message: PlainMessage) -> bool:
        """Say whether the type of each block is known."""
        return all(_known(type_of(block)) for block in blocks_of(message.get("content")))

    def weight(self, message: PlainMessage) -> Weight:
        """Return the message's compact JSON without payload data, and the fixed costs of its payloads."""
        return weigh(message)

    def text(self, message: PlainMessage) -> str | None:
        """Return the text of a message that holds exactly one text and nothing else, else None."""
        return sole_text(message.get("content"))

    def user(self, text: str) -> PlainMessage:
        """Return a user message with that text."""
        return {"role": "user", "content": text}

    def map_results(self, message: PlainMessage, change: Callable[[str], str]) -> PlainMessage:
        """Return a copy in which each text of a tool_result went through `change`; all else is kept."""
        content = message.get("content")
        if not isinstance(content, list):
            return dict(message)
        return {**message, "content": [_mapped(block, change) for block in content]}

    def replace_results(self, message: PlainMessage, texts: Mapping[str, str]) -> PlainMessage:
        """Return a copy in which each tool_result whose id is a key has that text as its content."""
        content = message.get("content")
        if not isinstance(content, list):
            return dict(message)
        return {**message, "content": [_replaced(block, texts) for block in content]}

    def violations(self, messages: Sequence[PlainMessage]) -> list[Violation]:
        """Return the rules of `anthropic_rules` that a request with these messages breaks."""
        return violations(messages)


def _canonical_block(block: PlainMessage) -> PlainMessage:
    form = tidy(block)
    kind = type_of(form)
    nested: PlainMessage = {}
    for key in _NESTED:
        value = form.get(key)
        if key == "content" and value is not None and kind in _STRING_IS_TEXT:
            nested[key] = canonical_content(value, _canonical_block)
        elif isinstance(value, dict | list):
            nested[key] = _canonical_nested(value)
    return {**form, **nested} if nested else form


def _canonical_nested(value: PlainMessage | list[Any]) -> Any:
    if isinstance(value, dict):
        return _canonical_block(value)
    return [_canonical_block(entry) if isinstance(entry, dict) else entry for entry in value]


def _block(block: PlainMessage) -> Block:
    match type_of(block):
        case "text":
            return Block(BlockKind.TEXT, text=string(block, "text"))
        case "thinking":
            return Block(BlockKind.THINKING, text=string(block, "thinking"))
        case "redacted_thinking":
            return Block(BlockKind.THINKING)
        case "tool_use":
            return _call(block)
        case "tool_result":
            return _result(block)
        case "image":
            return Block(BlockKind.IMAGE)
        case "document" | "search_result":
            return Block(BlockKind.DOCUMENT, readable(block))
        case kind if is_native(kind):
            return native_block(block)
        case _:
            return Block(BlockKind.OTHER)


def _known(kind: str) -> bool:
    return kind in _TYPED or is_native(kind)


def _call(block: PlainMessage) -> Block:
    text, arguments = arguments_of(block.get("input"))
    return Block(BlockKind.CALL, text, string(block, "name"), string(block, "id"), arguments)


def _result(block: PlainMessage) -> Block:
    return Block(
        BlockKind.RESULT,
        text=readable(block.get("content")),
        call_id=string(block, "tool_use_id"),
        is_error=block.get("is_error") is True,
    )


def _ids(message: PlainMessage, kind: str, key: str) -> list[str]:
    content = message.get("content")
    if not isinstance(content, list):
        return []
    found = (block.get(key) for block in content if isinstance(block, dict) and block.get("type") == kind)
    return [value for value in found if isinstance(value, str)]


def _mapped(block: Any, change: Callable[[str], str]) -> Any:
    if not isinstance(block, dict) or type_of(block) != "tool_result" or "content" not in block:
        return block
    return {**block, "content": change_texts(block["content"], change)}


def _replaced(block: Any, texts: Mapping[str, str]) -> Any:
    if not isinstance(block, dict) or type_of(block) != "tool_result":
        return block
    text = texts.get(string(block, "tool_use_id"))
    return block if text is None else {**block, "content": text}
