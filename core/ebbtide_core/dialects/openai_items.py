"""The items of OpenAI's Responses API: whose each is, what it says, and how it pairs.

| item                                                     | role      | read as                            |
| -------------------------------------------------------- | --------- | ---------------------------------- |
| message                                                  | its own   | its parts                          |
| `function_call`, `custom_tool_call`, `local_shell_call`, | assistant | CALL; answered by its `…_output`   |
| `shell_call`, `apply_patch_call`, `computer_call`,       |           |                                    |
| `tool_search_call` that the host runs                    |           |                                    |
| `…_output` of these                                      | tool      | RESULT                             |
| `reasoning`                                              | assistant | THINKING: its summary and text     |
| `compaction`                                             | assistant | NATIVE; only OpenAI can read it    |
| `web_search_call`, `file_search_call`, `mcp_call`,       | assistant | NATIVE, with the words there are   |
| `code_interpreter_call`, `image_generation_call`,        |           |                                    |
| `mcp_list_tools`, `mcp_approval_request`, `program`,     |           |                                    |
| `program_output`, tool search of the provider,           |           |                                    |
| `item_reference` (also one that is an id alone)          |           |                                    |
| `mcp_approval_response`                                  | tool      | NATIVE                             |
| `compaction_trigger`                                     | user      | NATIVE                             |
| `additional_tools`, `configuration_update`               | developer | NATIVE                             |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ebbtide_core.dialects.base import Block, BlockKind, PlainMessage
from ebbtide_core.dialects.parts import arguments_of, string, type_of

MESSAGE: Final = "message"
REASONING: Final = "reasoning"
COMPACTION: Final = "compaction"
_OUTPUT: Final = "_output"
_REFERENCE: Final = "item_reference"

_CALLS: Final[Mapping[str, tuple[str, str]]] = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
    "tool_search_call": ("tool_search", "arguments"),
}
"""Calls that a host may have to answer: the tool's name ("": the item says), and where its arguments are."""

_OUTPUTS: Final = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "shell_call_output",
        "apply_patch_call_output",
        "computer_call_output",
        "tool_search_output",
    }
)
_NATIVE_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "web_search_call": ("action",),
    "file_search_call": ("queries", "results"),
    "code_interpreter_call": ("code", "outputs"),
    "image_generation_call": ("revised_prompt",),
    "mcp_call": ("name", "arguments", "output", "error"),
    "mcp_list_tools": ("server_label", "error"),
    "mcp_approval_request": ("name", "arguments"),
    "mcp_approval_response": ("reason",),
    "program": ("code",),
    "program_output": ("result",),
    "tool_search_call": ("arguments",),
    "tool_search_output": (),
    COMPACTION: (),
    "compaction_trigger": (),
    _REFERENCE: (),
    "additional_tools": (),
    "configuration_update": (),
}
"""What the provider does, with the keys whose words can be read."""

_ROLES: Final = {
    "mcp_approval_response": "tool",
    "compaction_trigger": "user",
    "additional_tools": "developer",
    "configuration_update": "developer",
}
_WORD_KEYS: Final = ("text", "logs", "query", "queries", "url", "pattern", "message", "filename")
_TEXT_PARTS: Final = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})


def kind_of(item: PlainMessage) -> str:
    """Return the item's type, as which a message without one and a bare id count too; "" when it has none."""
    kind = type_of(item)
    if kind or item.get("type") is not None:
        return kind
    if string(item, "role"):
        return MESSAGE
    return _REFERENCE if string(item, "id") and len(item) <= 2 else ""


def role_of(item: PlainMessage) -> str:
    """Return whose item it is, "" when neither role nor type tells."""
    kind = kind_of(item)
    if kind == MESSAGE:
        return string(item, "role")
    if is_output(item):
        return "tool"
    if kind in _ROLES:
        return _ROLES[kind]
    return "assistant" if is_known(item) else string(item, "role") or ("assistant" if kind else "")


def is_known(item: PlainMessage) -> bool:
    """Say whether the type is one of the table."""
    kind = kind_of(item)
    return kind in _CALLS or kind in _OUTPUTS or kind in _NATIVE_WORDS or kind in (MESSAGE, REASONING)


def is_call(item: PlainMessage) -> bool:
    """Say whether it is a call that the host answers."""
    kind = kind_of(item)
    return kind in _CALLS and (kind != "tool_search_call" or item.get("execution") == "client")


def is_output(item: PlainMessage) -> bool:
    """Say whether it answers a call of the host's."""
    kind = kind_of(item)
    return kind in _OUTPUTS and (kind != "tool_search_output" or item.get("execution") == "client")


def call_id(item: PlainMessage) -> str | None:
    """Return the id that pairs call and output, None without one; a local shell's output may have it as
    `id`."""
    value = item.get("call_id")
    if value is None and kind_of(item) == "local_shell_call_output":
        value = item.get("id")
    return value if isinstance(value, str) else None


def begins(item: PlainMessage) -> str:
    """Return the id under which the provider goes on with what the item begins, "" when it begins nothing."""
    kind = kind_of(item)
    if kind == "mcp_approval_request":
        return string(item, "id")
    return string(item, "call_id") if kind == "program" or _searches(item, "tool_search_call") else ""


def ends(item: PlainMessage) -> str:
    """Return the id of what the provider began and the item ends, "" when it ends nothing."""
    kind = kind_of(item)
    if kind in ("mcp_approval_response", "mcp_call"):
        return string(item, "approval_request_id")
    return (
        string(item, "call_id") if kind == "program_output" or _searches(item, "tool_search_output") else ""
    )


def _searches(item: PlainMessage, kind: str) -> bool:
    return kind_of(item) == kind and item.get("execution") != "client"


def item_block(item: PlainMessage) -> Block:
    """Return an item that is no message as a reader needs it."""
    kind = kind_of(item)
    if kind == REASONING:
        return Block(BlockKind.THINKING, "\n".join(_texts(item.get("summary")) + _texts(item.get("content"))))
    if is_call(item):
        return _call(item, kind)
    if is_output(item):
        return Block(BlockKind.RESULT, output_text(item), call_id=call_id(item) or "", is_error=_failed(item))
    if kind in _NATIVE_WORDS:
        found = [word for key in _NATIVE_WORDS[kind] for word in _words(item.get(key))]
        return Block(BlockKind.NATIVE, "\n".join(found), kind)
    return Block(BlockKind.OTHER)


def _call(item: PlainMessage, kind: str) -> Block:
    tool, key = _CALLS[kind]
    name = tool or string(item, "name")
    if kind == "custom_tool_call" and isinstance(item.get(key), str):
        return Block(BlockKind.CALL, item[key], name, call_id(item) or "")
    if kind == "computer_call" and key not in item:
        key = "actions"
    text, arguments = arguments_of(item.get(key))
    return Block(BlockKind.CALL, text, name, call_id(item) or "", arguments)


def part_block(part: PlainMessage) -> Block:
    """Return a part of a message as a reader needs it."""
    kind = type_of(part)
    if kind in _TEXT_PARTS:
        return Block(BlockKind.TEXT, string(part, "text"))
    if kind == "refusal":
        return Block(BlockKind.TEXT, string(part, "refusal"))
    if kind in ("input_image", "computer_screenshot"):
        return Block(BlockKind.IMAGE)
    return Block(BlockKind.DOCUMENT if kind == "input_file" else BlockKind.OTHER)


def parts_of(content: Any, kind: str = "input_text") -> list[PlainMessage]:
    """Return a content's parts for reading: a string is a text of that kind, any other odd entry an empty
    part."""
    if isinstance(content, str):
        return [{"type": kind, "text": content}]
    if not isinstance(content, list):
        return []
    return [
        p if isinstance(p, dict) else {"type": kind, "text": p} if isinstance(p, str) else {} for p in content
    ]


def output_text(item: PlainMessage) -> str:
    """Return what an output says: its texts, and what a shell wrote, a line each."""
    output = item.get("output")
    shell = [string(chunk, key) for chunk in _objects(output) for key in ("stdout", "stderr")]
    return "\n".join([*_texts(output), *filter(None, shell)])


def change_output(output: Any, change: Callable[[str], str]) -> Any:
    """Return a copy of an output in which each text, and what a shell wrote, went through `change`."""
    if isinstance(output, str):
        return change(output)
    if not isinstance(output, list):
        return output
    return [_changed(part, change) for part in output]


def _changed(part: Any, change: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return change(part)
    if not isinstance(part, dict):
        return part
    keys = ("text",) if type_of(part) in _TEXT_PARTS else ("stdout", "stderr")
    return {**part, **{key: change(part[key]) for key in keys if isinstance(part.get(key), str)}}


def _texts(content: Any) -> list[str]:
    return [string(part, "text") for part in parts_of(content) if type_of(part) in _TEXT_PARTS]


def _objects(value: Any) -> list[PlainMessage]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _failed(item: PlainMessage) -> bool:
    """A patch says so, a shell by its exit code or time-out."""
    outcomes = [
        chunk["outcome"] for chunk in _objects(item.get("output")) if isinstance(chunk.get("outcome"), dict)
    ]
    ended = any(type_of(o) == "timeout" or o.get("exit_code") not in (None, 0) for o in outcomes)
    return ended or string(item, "status") == "failed"


def _words(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, list):
        return [word for entry in value for word in _words(entry)]
    if isinstance(value, dict):
        return [word for key in _WORD_KEYS for word in _words(value.get(key))]
    return []
