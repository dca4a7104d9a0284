"""Messages in each dialect's shape, built from plain dicts, and strategies for wild ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ebbtide_core.dialects.anthropic import AnthropicMessages
from ebbtide_core.dialects.openai_chat import OpenAIChat
from ebbtide_core.dialects.openai_responses import OpenAIResponses

Json = dict[str, Any]

ANTHROPIC = AnthropicMessages()
OPENAI = OpenAIChat()
RESPONSES = OpenAIResponses()
ALL = (ANTHROPIC, OPENAI, RESPONSES)

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


def item(kind: str, **keys: Any) -> Json:
    """A Responses item of a type."""
    return {"type": kind, **keys}


def said(role: str, *parts: Any) -> Json:
    """A Responses message of parts, or of one string."""
    content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else list(parts)
    return {"type": "message", "role": role, "content": content}


def invoked(call_id: str, name: str = "f", arguments: str = "{}") -> Json:
    """A Responses function call."""
    return item("function_call", call_id=call_id, name=name, arguments=arguments)


def returned(call_id: str, output: Any = "ok") -> Json:
    """A Responses function's output."""
    return item("function_call_output", call_id=call_id, output=output)


def reasoned(name: str = "rs_1", *words: str) -> Json:
    """A Responses reasoning item."""
    summary = [{"type": "summary_text", "text": word} for word in words]
    return item("reasoning", id=name, summary=summary, encrypted_content="gAAA")


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
    "mcp_tool_use",
    "input_text",
    "output_text",
    "summary_text",
    "input_image",
    "input_file",
    "computer_screenshot",
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
    "stdout",
    "outcome",
    "prompt_cache_breakpoint",
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

_ITEM_TYPES = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "computer_call",
    "computer_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "compaction",
    "compaction_trigger",
    "item_reference",
    "program",
    "program_output",
    "additional_tools",
    "configuration_update",
]
_ITEM_PARTS = (
    "output",
    "outputs",
    "summary",
    "action",
    "operation",
    "actions",
    "input",
    "results",
    "queries",
)
_ITEM_WORDS = (
    "id",
    "call_id",
    "execution",
    "status",
    "arguments",
    "approval_request_id",
    "encrypted_content",
    "code",
    "result",
)

WILD = st.fixed_dictionaries(
    {"role": st.sampled_from(_ROLES) | ANY_TEXT},
    optional={
        "type": st.sampled_from(_ITEM_TYPES) | _PARTS,
        **dict.fromkeys(_ITEM_PARTS, _PARTS),
        **dict.fromkeys(_ITEM_WORDS, st.sampled_from(["a", "b", "client"]) | JSON),
        "content": st.lists(_PARTS, max_size=4) | _PARTS,
        "tool_calls": st.lists(_PARTS, max_size=3) | _PARTS,
        **dict.fromkeys(("function_call", "audio", "cache_control", "ebbtide"), _PARTS),
        **dict.fromkeys(("name", "tool_call_id", "refusal", "reasoning_content"), ANY_TEXT | JSON),
    },
)
"""Any object with a role, made of the words that the formats know, mostly in the wrong places."""
