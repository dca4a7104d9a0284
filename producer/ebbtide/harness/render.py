"""Run history as messages: the request that the runner would send.

Items are told apart by shape, so that no framework is imported: a message is a mapping with a role, a
response has choices that hold a message, a prompt has a template that renders messages from values. Anything
else is what a user said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from pydantic import BaseModel

from ebbtide.harness.estimate import as_text
from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.jsonio import plain
from ebbtide_core.lineage.marks import unmarked

HistoryItem = Any
Instructions = Any
"""One item of a run's history; what the run's system message is made of."""

_COMPLETION: Final = "chat.completion"


def render_request_messages(instructions: Instructions, history: Iterable[HistoryItem]) -> list[PlainMessage]:
    """Return instructions and history as the model is sent them, without Ebbtide's marks.

    Raises ValueError for a response without choices, and for a prompt without a message of the role it stands
    for.
    """
    rendered = [m for item in history for m in item_messages(item)]
    return [dict(unmarked(m)) for m in (*_instruction_messages(instructions), *rendered)]


def item_messages(item: HistoryItem) -> list[PlainMessage]:
    """Return the messages of one history item, with their marks. Raises ValueError as above."""
    if isinstance(item, Mapping):
        if isinstance(item.get("role"), str):
            return [_normal(item)]
    elif _is_response(item):
        return [_answer(item)]
    elif _is_prompt(item):
        return _prompted(item, "user")
    return [_normal({"role": "user", "content": item})]


def _instruction_messages(instructions: Instructions) -> list[PlainMessage]:
    if instructions is None:
        return []
    if _is_prompt(instructions):
        return _prompted(instructions, "system")
    return [_normal({"role": "system", "content": instructions})]


def _is_prompt(item: Any) -> bool:
    return callable(getattr(getattr(item, "template", None), "render_messages", None))


def _is_response(item: Any) -> bool:
    choices = getattr(item, "choices", None)
    if not isinstance(choices, list | tuple):
        return False
    return hasattr(choices[0], "message") if choices else getattr(item, "object", "") == _COMPLETION


def _answer(response: Any) -> PlainMessage:
    if not response.choices:
        raise ValueError(
            "a model response in the history has no choices: take it out, or answer the turn again"
        )
    message = response.choices[0].message
    if isinstance(message, BaseModel):
        return message.model_dump(mode="json", exclude_none=True)
    return {key: value for key, value in plain(message).items() if value is not None}


def _prompted(prompt: Any, role: str) -> list[PlainMessage]:
    rendered: Sequence[Any] = prompt.template.render_messages(getattr(prompt, "values", None))
    messages = [_normal(message) for message in rendered if message.get("role") == role]
    if not messages:
        raise ValueError(f"the prompt renders no message of role {role}: give its template one")
    return messages


def _normal(message: Mapping[str, Any]) -> PlainMessage:
    copied = dict(message)
    if "content" in copied:
        copied["content"] = _content(copied["content"])
    return copied


def _content(content: Any) -> Any:
    if isinstance(content, str | list):
        return content
    if isinstance(content, BaseModel):
        return content.model_dump_json()
    if is_dataclass(content) and not isinstance(content, type):
        return json.dumps(asdict(content))
    return as_text(content)
