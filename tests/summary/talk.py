"""Short ways to write a source: messages of a conversation as the summariser gets them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.summary.source import SourceMessage


def text(words: str) -> Block:
    """Return a text block."""
    return Block(BlockKind.TEXT, words)


def call(call_id: str, name: str = "bash", **arguments: Any) -> Block:
    """Return a call with its arguments."""
    return Block(BlockKind.CALL, json.dumps(arguments), name=name, call_id=call_id, arguments=arguments)


def result(call_id: str, words: str = "ok", *, is_error: bool = False) -> Block:
    """Return a call's result."""
    return Block(BlockKind.RESULT, words, call_id=call_id, is_error=is_error)


def talk(*messages: tuple[str, Block | str]) -> list[SourceMessage]:
    """Return a source of one-block messages, indexed from 0."""
    return [
        SourceMessage(index, role, (text(block) if isinstance(block, str) else block,))
        for index, (role, block) in enumerate(messages)
    ]


def message(role: str, *blocks: Block) -> SourceMessage:
    """Return one message of several blocks at index 0."""
    return SourceMessage(0, role, blocks)


def tokens(words: str) -> int:
    """Count tokens as a byte-pair tokenizer roughly would."""
    return len(words.encode()) // 4


def joined(items: Sequence[str]) -> str:
    """Return items as one text to search in."""
    return "\n".join(items)
