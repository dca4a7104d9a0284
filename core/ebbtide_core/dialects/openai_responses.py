"""OpenAI's Responses format: a list of items, of which only messages have a role.

An answer comes as several items: reasoning, messages, calls, and what the provider did. Reasoning is refused
without the items of its answer, and they without it, so an answer with reasoning stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ebbtide_core.dialects.base import (
    NO_TIES,
    Base,
    Block,
    BlockKind,
    PlainMessage,
    Ties,
    Violation,
    Weight,
)
from ebbtide_core.dialects.openai_items import (
    COMPACTION,
    MESSAGE,
    REASONING,
    begins,
    call_id,
    change_output,
    ends,
    is_call,
    is_known,
    is_output,
    item_block,
    kind_of,
    part_block,
    parts_of,
    role_of,
)
from ebbtide_core.dialects.openai_responses_rules import violations
from ebbtide_core.dialects.parts import SYSTEM_ROLES, tidy, unmarked
from ebbtide_core.dialects.payloads import weigh_item

_CACHE_MARK: Final = "prompt_cache_breakpoint"
_HOLDERS: Final = ("action", "operation", "caller", "environment")
_TEXT_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_LEADS: Final = frozenset({REASONING, "item_reference"})
"""What stands behind a reference can't be seen: it may be reasoning."""


class OpenAIResponses:
    """The dialect of OpenAI's Responses API; a host chooses it by its name."""

    name: str = "openai_responses"

    def role(self, message: PlainMessage) -> str:
        """Return a message's own role, of other items that of their type (see `openai_items`)."""
        return role_of(message)

    def canonical(self, message: PlainMessage) -> PlainMessage:
        """Return the form that is hashed and uploaded; parts that need no change are shared with the item.

        Null keys and cache marks go from the item, its parts, and the one object that it holds as an action
        and the like. A message's type goes, since it may be left out. A string as the content of a message or
        the output of a function is one text part.
        """
        form = tidy(unmarked(message))
        kind = kind_of(form)
        changed: PlainMessage = {k: tidy(form[k]) for k in _HOLDERS if isinstance(form.get(k), dict)}
        if kind == MESSAGE:
            form = {key: value for key, value in form.items() if key != "type"}
            kind_of_text = "output_text" if form.get("role") == "assistant" else "input_text"
            changed |= _canonical_at(form, "content", kind_of_text)
        elif kind in _TEXT_OUTPUTS:
            changed |= _canonical_at(form, "output", "input_text")
        return {**form, **changed} if changed else form

    def is_system(self, message: PlainMessage) -> bool:
        """Say whether the item is a system or developer message, or changes tools or configuration."""
        return role_of(message) in SYSTEM_ROLES

    def blocks(self, message: PlainMessage) -> Sequence[Block]:
        """Return a message's parts in order; any other item is one block."""
        if kind_of(message) != MESSAGE:
            return [item_block(message)]
        return [part_block(part) for part in parts_of(message.get("content"))]

    def calls(self, message: PlainMessage) -> Sequence[str]:
        """Return the id of a call that the host answers."""
        name = call_id(message) if is_call(message) else None
        return [] if name is None else [name]

    def results(self, message: PlainMessage) -> Sequence[str]:
        """Return the id that an output answers."""
        name = call_id(message) if is_output(message) else None
        return [] if name is None else [name]

    def only_results(self, message: PlainMessage) -> bool:
        """Say whether the item is an output."""
        return is_output(message)

    def ties(self, message: PlainMessage) -> Ties:
        """Return that reasoning leads the items of its answer, what the provider begins and ends, and its
        compaction."""
        kind, name, ended = kind_of(message), begins(message), ends(message)
        if role_of(message) != "assistant" and not ended:
            return NO_TIES
        return Ties(
            leads=kind in _LEADS,
            part=role_of(message) == "assistant",
            begun=(name,) if name else (),
            ended=(ended,) if ended else (),
            base=Base.SEALED if kind == COMPACTION else Base.NONE,
        )

    def words(self, message: PlainMessage) -> int:
        """Return the number of characters of a message's texts and refusals."""
        return sum(len(block.text) for block in self.blocks(message) if block.kind is BlockKind.TEXT)

    def knows(self, message: PlainMessage) -> bool:
        """Say whether the type of the item and of each part of a message is known."""
        return is_known(message) and all(block.kind is not BlockKind.OTHER for block in self.blocks(message))

    def weight(self, message: PlainMessage) -> Weight:
        """Return the item's compact JSON without payload data, and the fixed costs of its payloads."""
        return weigh_item(message)

    def text(self, message: PlainMessage) -> str | None:
        """Return the text of a message that holds exactly one text and nothing else, else None."""
        parts = parts_of(message.get("content")) if kind_of(message) == MESSAGE else []
        if len(parts) != 1 or "text" not in parts[0]:
            return None
        block = part_block(parts[0])
        return block.text if block.kind is BlockKind.TEXT else None

    def user(self, text: str) -> PlainMessage:
        """Return a user message with that text."""
        return {"role": "user", "content": text}

    def map_results(self, message: PlainMessage, change: Callable[[str], str]) -> PlainMessage:
        """Return a copy in which each text of an output went through `change`; all else is kept."""
        if not is_output(message) or "output" not in message:
            return dict(message)
        return {**message, "output": change_output(message["output"], change)}

    def replace_results(self, message: PlainMessage, texts: Mapping[str, str]) -> PlainMessage:
        """Return a copy whose output is the text of the id that it answers, if that is a key.

        What a shell wrote is replaced in its one chunk; a screenshot, which the API demands, stays.
        """
        name = call_id(message) if is_output(message) else None
        if name is None or name not in texts or kind_of(message) in _SHAPED:
            return dict(message)
        if kind_of(message) == "shell_call_output":
            return {**message, "output": _written(message.get("output"), texts[name])}
        return {**message, "output": texts[name]}

    def violations(self, messages: Sequence[PlainMessage]) -> list[Violation]:
        """Return the rules of `openai_responses_rules` that a request with these items breaks."""
        return violations(messages)


_SHAPED: Final = frozenset({"computer_call_output", "tool_search_output"})


def _written(output: Any, text: str) -> list[PlainMessage]:
    """Return a shell's output as one chunk that says the text; how the last command ended is kept."""
    chunks = [chunk for chunk in output if isinstance(chunk, dict)] if isinstance(output, list) else []
    outcome = chunks[-1].get("outcome") if chunks else None
    return [{"stdout": text, "stderr": "", "outcome": outcome or {"type": "exit", "exit_code": 0}}]


def _canonical_at(form: PlainMessage, key: str, kind: str) -> PlainMessage:
    """Return the key with its content in canonical form, nothing when the content is no list of parts."""
    content = form.get(key)
    if not isinstance(content, str | list):
        return {}
    parts = parts_of(content, kind) if isinstance(content, str) else content
    return {key: [_canonical_part(part, kind) for part in parts]}


def _canonical_part(part: Any, kind: str) -> Any:
    if isinstance(part, str):
        return {"type": kind, "text": part}
    if not isinstance(part, dict):
        return part
    form = tidy(part)
    return {k: v for k, v in form.items() if k != _CACHE_MARK} if _CACHE_MARK in form else form
