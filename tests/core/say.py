"""Messages of each format in few words, and what the pure core makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ebbtide_core.budget.boundary import Cut, boundary
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import Buffer, read
from ebbtide_core.policy import Limits

Json = dict[str, Any]

ANTHROPIC: Dialect = by_name("anthropic")
OPENAI: Dialect = by_name("openai")
RESPONSES: Dialect = by_name("openai_responses")


def text(words: str) -> Json:
    """A text block."""
    return {"type": "text", "text": words}


def call(name: str, tool: str = "bash", **arguments: Any) -> Json:
    """A tool_use block."""
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def result(name: str, content: Any = "ok", **more: Any) -> Json:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def image(size: int) -> Json:
    """An image block of some characters of base64."""
    source = {"type": "base64", "media_type": "image/png", "data": "A" * size}
    return {"type": "image", "source": source}


def user(*blocks: Any) -> Json:
    """A user message of one string, or of blocks; for Chat the string."""
    return {"role": "user", "content": _content(blocks)}


def assistant(*blocks: Any) -> Json:
    """An assistant message of one string, or of blocks."""
    return {"role": "assistant", "content": _content(blocks)}


def _content(blocks: Sequence[Any]) -> Any:
    return blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks)


def system(words: str, role: str = "system") -> Json:
    """A system or developer message."""
    return {"role": role, "content": words}


def asks(*names: str, words: str | None = None) -> Json:
    """A Chat assistant message with calls of these ids."""
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function} for name in names]
    return {"role": "assistant", "content": words, "tool_calls": calls}


def answers(name: str, words: Any = "ok") -> Json:
    """A Chat tool message."""
    return {"role": "tool", "tool_call_id": name, "content": words}


def marked(message: Json, **marks: bool) -> Json:
    """The message with Ebbtide's marks."""
    return {**message, "ebbtide": marks}


def reading(messages: Sequence[Message], dialect: Dialect = ANTHROPIC) -> Buffer:
    """The messages as a buffer."""
    return read(messages, dialect)


def figures(
    *,
    window: int = 100_000,
    soft: int = 70_000,
    hard: int = 95_000,
    keep_tokens: int = 0,
    keep_messages: int = 1,
    summary: int = 100,
) -> Limits:
    """Limits in tokens, of which a test names those that matter to it."""
    return Limits(
        window=window,
        soft=soft,
        hard=hard,
        keep_recent_tokens=keep_tokens,
        keep_recent_messages=keep_messages,
        min_new_tokens=1,
        max_tokens=1,
        summary_max_tokens=summary,
    )


def cut(
    messages: Sequence[Message],
    limits: Limits,
    *,
    dialect: Dialect = ANTHROPIC,
    each: int | Sequence[int] = 10,
    outside: int = 0,
) -> Cut | None:
    """Where a compaction cuts, with messages of so many tokens each."""
    sizes = [each] * len(messages) if isinstance(each, int) else each
    return boundary(reading(messages, dialect), sizes, limits, outside)
