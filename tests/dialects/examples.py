"""Messages in both providers' shapes, built from plain dicts, and strategies for wild ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ebbtide_core.dialects.anthropic import AnthropicMessages
from ebbtide_core.dialects.openai_chat import OpenAIChat

Json = dict[str, Any]

ANTHROPIC = AnthropicMessages()
OPENAI = OpenAIChat()
BOTH = (ANTHROPIC, OPENAI)

MARK = {"type": "ephemeral", "ttl": "5m"}


def text(words: str) -> Json:
    """A text block of either format."""
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "bash", **arguments: Any) -> Json:
    """An Anthropic tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "ok", **keys: Any) -> Json:
    """An Anthropic tool_result block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **keys}


def source(data: str, kind: str = "base64") -> Json:
    """A source of an Anthropic image or document."""
    return {"type": kind, "media_type": "image/png", "data": data}


def user(*blocks: Any) -> Json:
    """A user message of blocks, or of one string."""
    return {
        "role": "user",
        "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else list(blocks),
    }


def assistant(*blocks: Any) -> Json:
    """An assistant message of blocks, or of one string."""
    return {**user(*blocks), "role": "assistant"}


def asks(*ids: str, content: Any = None) -> Json:
    """An OpenAI assistant message with calls."""
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def answers(call_id: str, content: Any = "ok") -> Json:
    """An OpenAI tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
_LEAF = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT
)

JSON = st.recursive(
    _LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=10,
)

_TYPES = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
    "image",
    "document",
    "search_result",
    "server_tool_use",
    "web_fetch_tool_result",
    "mcp_tool_result",
    "container_upload",
    "compaction",
    "image_url",
    "file",
    "input_audio",
    "refusal",
    "function",
    "custom",
    "content",
    "base64",
    "url",
    "tool_reference",
]
_KEYS = [
    "type",
    "text",
    "thinking",
    "id",
    "name",
    "tool_use_id",
    "is_error",
    "input",
    "content",
    "source",
    "citations",
    "data",
    "url",
    "title",
    "context",
    "image_url",
    "file",
    "file_data",
    "input_audio",
    "refusal",
    "function",
    "custom",
    "arguments",
    "cache_control",
    "encrypted_content",
    "audio",
]
_ROLES = ["user", "assistant", "system", "developer", "tool", "function"]

_PARTS = st.recursive(
    _LEAF | st.sampled_from(_TYPES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(
            lambda kind, keys: {**keys, "type": kind},
            st.sampled_from(_TYPES),
            st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5),
        )
        | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4)
    ),
    max_leaves=15,
)

BLOCKS = st.dictionaries(st.sampled_from(_KEYS), _PARTS, max_size=5)
"""Any object of keys that blocks have."""

WILD = st.fixed_dictionaries(
    {"role": st.sampled_from(_ROLES) | ANY_TEXT},
    optional={
        "content": st.lists(_PARTS, max_size=4) | _PARTS,
        "tool_calls": st.lists(_PARTS, max_size=3) | _PARTS,
        **dict.fromkeys(("function_call", "audio", "type", "cache_control", "ebbtide"), _PARTS),
        **dict.fromkeys(("name", "tool_call_id", "refusal", "reasoning_content"), ANY_TEXT | JSON),
    },
)
"""Any object with a role, made of the words that the formats know, mostly in the wrong places."""
