"""The OpenAI Chat Completions format: calls beside the content, one message a result.

The legacy `function_call` and its `function` message have no id: the function's name pairs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ebbtide_core.dialects.base import NO_TIES, Block, BlockKind, PlainMessage, Ties, Violation, Weight
from ebbtide_core.dialects.openai_chat_rules import violations
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

_RESULT_ROLES: Final = frozenset({"tool", "function"})
_BESIDE_CONTENT: Final = ("tool_calls", "function_call", "refusal", "audio", "reasoning_content", "reasoning")
_KNOWN: Final = frozenset({"text", "refusal", "image_url", "file"})
_PART_PAYLOADS: Final = ("image_url", "file", "input_audio")
_CALL_BODIES: Final = ("function", "custom")


class OpenAIChat:
    """The dialect of OpenAI's Chat Completions API and of what speaks it."""

    name: str = "openai"

    def role(self, message: PlainMessage) -> str:
        """Return the message's own role."""
        return string(message, "role")

    def canonical(self, message: PlainMessage) -> PlainMessage:
        """Return the form that is hashed and uploaded; parts that need no change are shared with the message.

        Null keys and cache marks go from the message (some hosts put the mark there), from its parts and
        calls, and from the one object that these hold, such as `image_url` or `function`. Arguments stay.
        """
        form = tidy(unmarked(message))
        changed: PlainMessage = {}
        if "content" in form:
            changed["content"] = canonical_content(form["content"], _canonical_part)
        if isinstance(form.get("tool_calls"), list):
            calls = form["tool_calls"]
            changed["tool_calls"] = [
                _canonical_call(call) if isinstance(call, dict) else call for call in calls
            ]
        return {**_tidy_inside(form, ("function_call", "audio")), **changed}

    def is_system(self, message: PlainMessage) -> bool:
        """Say whether the message is a system or developer message."""
        return message["role"] in SYSTEM_ROLES

    def blocks(self, message: PlainMessage) -> Sequence[Block]:
        """Return the message's parts in order: reasoning, content, refusal, calls; a result is one block."""
        if message["role"] in _RESULT_ROLES:
            return [_result(message)]
        reasoning = string(message, "reasoning_content") or string(message, "reasoning")
        refusal = string(message, "refusal")
        return [
            *([Block(BlockKind.THINKING, reasoning)] if reasoning else ()),
            *(_part(part) for part in blocks_of(message.get("content"))),
            *([Block(BlockKind.TEXT, refusal)] if refusal else ()),
            *(_call(call_id or "", body) for call_id, body in _calls(message)),
        ]

    def calls(self, message: PlainMessage) -> Sequence[str]:
        """Return the ids of the calls, of a legacy `function_call` its name."""
        return [call_id for call_id, _ in _calls(message) if call_id is not None]

    def results(self, message: PlainMessage) -> Sequence[str]:
        """Return the id that a `tool` message answers, of a `function` message its name."""
        answered = _answered(message)
        return [] if answered is None else [answered]

    def only_results(self, message: PlainMessage) -> bool:
        """Say whether the message is a `tool` or `function` message."""
        return message["role"] in _RESULT_ROLES

    def ties(self, message: PlainMessage) -> Ties:
        """Return no ties: calls and results are all that binds messages here."""
        return NO_TIES

    def words(self, message: PlainMessage) -> int:
        """Return the number of characters of the texts and refusals."""
        return sum(len(block.text) for block in self.blocks(message) if block.kind is BlockKind.TEXT)

    def knows(self, message: PlainMessage) -> bool:
        """Say whether the type of each part is known."""
        if message["role"] in _RESULT_ROLES:
            return True
        return all(type_of(part) in _KNOWN for part in blocks_of(message.get("content")))

    def weight(self, message: PlainMessage) -> Weight:
        """Return the message's compact JSON without payload data, and the fixed costs of its payloads."""
        return weigh(message)

    def text(self, message: PlainMessage) -> str | None:
        """Return the text of a message that holds exactly one text and nothing else, else None."""
        if message["role"] in _RESULT_ROLES or any(message.get(key) for key in _BESIDE_CONTENT):
            return None
        return sole_text(message.get("content"))

    def user(self, text: str) -> PlainMessage:
        """Return a user message with that text."""
        return {"role": "user", "content": text}

    def map_results(self, message: PlainMessage, change: Callable[[str], str]) -> PlainMessage:
        """Return a copy in which each text of a result message went through `change`; all else is kept."""
        if message["role"] not in _RESULT_ROLES or "content" not in message:
            return dict(message)
        return {**message, "content": change_texts(message["content"], change)}

    def replace_results(self, message: PlainMessage, texts: Mapping[str, str]) -> PlainMessage:
        """Return a copy whose content is the text of the id that it answers, if that is a key."""
        answered = _answered(message)
        if answered is None or answered not in texts:
            return dict(message)
        return {**message, "content": texts[answered]}

    def violations(self, messages: Sequence[PlainMessage]) -> list[Violation]:
        """Return the rules of `openai_chat_rules` that a request with these messages breaks."""
        return violations([(m, self.calls(m), self.results(m)) for m in messages])


def _tidy_inside(holder: PlainMessage, keys: Sequence[str]) -> PlainMessage:
    inside = {key: tidy(holder[key]) for key in keys if isinstance(holder.get(key), dict)}
    return {**holder, **inside} if inside else holder


def _canonical_part(part: PlainMessage) -> PlainMessage:
    return _tidy_inside(tidy(part), _PART_PAYLOADS)


def _canonical_call(call: PlainMessage) -> PlainMessage:
    return _tidy_inside(tidy(call), _CALL_BODIES)


def _answered(message: PlainMessage) -> str | None:
    key = {"tool": "tool_call_id", "function": "name"}.get(message["role"])
    value = message.get(key) if key else None
    return value if isinstance(value, str) else None


def _calls(message: PlainMessage) -> Iterator[tuple[str | None, PlainMessage]]:
    """Yield each call as its id (None without one) and the object that holds its name and arguments."""
    listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else ():
        if isinstance(call, dict):
            call_id = call.get("id")
            yield call_id if isinstance(call_id, str) else None, _body(call)
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        name = legacy.get("name")
        yield name if isinstance(name, str) else None, legacy


def _body(call: PlainMessage) -> PlainMessage:
    return next((call[key] for key in _CALL_BODIES if isinstance(call.get(key), dict)), {})


def _result(message: PlainMessage) -> Block:
    text = "\n".join(texts_of(message.get("content")))
    return Block(BlockKind.RESULT, text, call_id=_answered(message) or "")


def _call(call_id: str, body: PlainMessage) -> Block:
    text, arguments = _arguments(body)
    return Block(BlockKind.CALL, text, string(body, "name"), call_id, arguments)


def _arguments(body: PlainMessage) -> tuple[str, Mapping[str, Any] | None]:
    """A custom tool's input is free text, a function's arguments are JSON in a string."""
    if "arguments" not in body and isinstance(body.get("input"), str):
        return body["input"], None
    return arguments_of(body.get("arguments"))


def _part(part: PlainMessage) -> Block:
    match type_of(part):
        case "text":
            return Block(BlockKind.TEXT, string(part, "text"))
        case "refusal":
            return Block(BlockKind.TEXT, string(part, "refusal"))
        case "image_url":
            return Block(BlockKind.IMAGE)
        case "file":
            return Block(BlockKind.DOCUMENT)
        case _:
            return Block(BlockKind.OTHER)
