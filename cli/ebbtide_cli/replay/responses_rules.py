"""What OpenAI's Responses API rejects, written down a second time: the dialect's own check may be wrong.

Nothing here imports the project. Items are the provider's own JSON. Sources: the Responses reference, and the
errors that it returns ("No tool output found for function call", "No tool call found for …", "… was provided
without its required following item", "… was provided without its required 'reasoning' item").

Rules: `not_a_message`, `unknown_role`, `empty_content`, `result_without_call`, `call_without_result`,
`duplicate_call`, `duplicate_result`, `reasoning_alone`, `approval_without_request`, `items_after_trigger`.
Of a sent view against the raw history only: `reasoning_dropped`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

Broken = tuple[str, int]
Json = dict[str, Any]
Numbered = Sequence[tuple[int, Json]]

_SPEAKERS: Final = frozenset({"user", "assistant", "system", "developer"})
_ANSWERED_BY: Final = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
}
_ASIDE: Final = frozenset({"additional_tools", "configuration_update"})
_HOSTS: Final = frozenset({"mcp_approval_response", "compaction_trigger"})
MARK: Final = "ebbtide"
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def is_item(value: Any) -> bool:
    """Say whether it is an object that tells by role or type what it is."""
    if not isinstance(value, dict):
        return False
    return any(isinstance(value.get(key), str) and value[key] for key in ("role", "type", "id"))


def broken_items(values: Sequence[Any]) -> Iterator[Broken]:
    """Yield every rule that a request with these items breaks, with the item's index. Never raises."""
    items = [(index, item) for index, item in enumerate(values) if is_item(item)]
    yield from (("not_a_message", index) for index, item in enumerate(values) if not is_item(item))
    yield from _spoken(items)
    yield from _answered(items)
    yield from _led(items)
    requests: set[Any] = set()
    for at, (index, item) in enumerate(items):
        kind = _type(item)
        if kind == "mcp_approval_request":
            requests.add(json.dumps(item.get("id")))
        if kind == "mcp_approval_response" and json.dumps(item.get("approval_request_id")) not in requests:
            yield "approval_without_request", index
        if kind == "compaction_trigger" and at < len(items) - 1:
            yield "items_after_trigger", index


def reasoning_dropped(raw: Sequence[Any], sent: Sequence[Any]) -> Iterator[Broken]:
    """Yield each item of the view whose answer had reasoning before it that the view has not."""
    needed: dict[str, list[set[str]]] = {}
    for _, spelled, before in _with_reasoning(raw):
        needed.setdefault(spelled, []).append(before)
    for index, spelled, before in _with_reasoning(sent):
        if spelled in needed and not any(wanted <= before for wanted in needed[spelled]):
            yield "reasoning_dropped", index


def _with_reasoning(items: Sequence[Any]) -> Iterator[tuple[int, str, set[str]]]:
    """Yield each item of an answer as text, with the reasoning items that stand before it in the answer.

    Lone surrogates are replaced in views, so they count as replaced.
    """
    before: set[str] = set()
    for index, item in enumerate(items):
        if not is_item(item) or _side(item) == "aside":
            continue
        if _side(item) != "answer":
            before = set()
            continue
        bare = {key: value for key, value in item.items() if key != MARK}
        text = json.dumps(bare, sort_keys=True, ensure_ascii=False, default=repr)
        spelled = _SURROGATES.sub("\ufffd", text)
        yield index, spelled, set(before)
        if _type(item) == "reasoning":
            before.add(spelled)


def _type(item: Json) -> str:
    kind = item.get("type")
    return kind if isinstance(kind, str) else ""


def _is_message(item: Json) -> bool:
    return _type(item) == "message" or ("type" not in item and isinstance(item.get("role"), str))


def _side(item: Json) -> str:
    """Tell who gave the item: the user, the tools, an answer of the model; `aside` is neither."""
    if _is_message(item):
        if item.get("role") in ("system", "developer"):
            return "aside"
        return "answer" if item.get("role") == "assistant" else "user"
    if _type(item) in _ASIDE:
        return "aside"
    if _type(item) in _ANSWERED_BY.values() or _type(item) in _HOSTS:
        return "tools"
    return "answer"


def _spoken(items: Numbered) -> Iterator[Broken]:
    for index, item in items:
        if not _is_message(item):
            continue
        if item.get("role") not in _SPEAKERS:
            yield "unknown_role", index
        content = item.get("content")
        if content is None or (isinstance(content, list) and not content):
            yield "empty_content", index


def _led(items: Numbered) -> Iterator[Broken]:
    told = [(index, item) for index, item in items if _side(item) != "aside"]
    for at, (index, item) in enumerate(told):
        if _type(item) == "reasoning" and not any(
            _side(later) == "answer" for _, later in told[at + 1 : at + 2]
        ):
            yield "reasoning_alone", index


def _answered(items: Numbered) -> Iterator[Broken]:
    """Outputs may come late and in any order; a call without one is broken once the talk went on."""
    open_calls: dict[str, int] = {}
    known: set[str] = set()
    for index, item in items:
        name = _id(item)
        if _type(item) in _ANSWERED_BY:
            if name in open_calls and _went_on(items, open_calls[name], index):
                yield "call_without_result", open_calls[name]
            elif name in open_calls:
                yield "duplicate_call", index
            open_calls[name] = index
            known.add(name)
        elif _type(item) in _ANSWERED_BY.values() and open_calls.pop(name, None) is None:
            yield ("duplicate_result" if name in known else "result_without_call"), index
    yield from (("call_without_result", at) for at in open_calls.values() if _went_on(items, at))


def _id(item: Json) -> str:
    name = item.get("call_id")
    if name is None and _type(item) == "local_shell_call_output":
        name = item.get("id")
    return name if isinstance(name, str) else ""


def _went_on(items: Numbered, at: int, until: int | None = None) -> bool:
    """Say whether the user spoke, or the model gave another answer, after the item of an index.

    Only items up to that of `until` are looked at, if it is given.
    """
    tools = False
    for index, item in items:
        if index <= at or (until is not None and index > until):
            continue
        side = _side(item)
        if side == "user" or (side == "answer" and tools):
            return True
        tools = tools or side == "tools"
    return False
