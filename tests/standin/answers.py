"""The stand-in's messages: content, stop reason, usage."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from tests.standin import summaries
from tests.standin.behaviour import Behaviour, Call
from tests.standin.kinds import Kind
from tests.standin.prompt import Prompt, roughly

Json = dict[str, Any]
Count = Callable[[str], int]

PAGE: Final = "<!doctype html><title>Bad gateway</title><p>The upstream is having a moment.</p>"


def envelope(prompt: Prompt, number: int) -> Json:
    """Return what every message begins with."""
    return {
        "id": f"msg_standin_{number}",
        "type": "message",
        "role": "assistant",
        "model": prompt.model,
    }


def message(prompt: Prompt, behaviour: Behaviour, number: int, warm: bool, count: Count) -> Json:
    """Return a message body. `warm`: the prompt's prefix was cached before. `count`: counts tokens."""
    body = envelope(prompt, number)
    if behaviour.kind is Kind.NULL:
        return {**body, "content": None, "stop_reason": None}
    content, stop_reason = _content(prompt, behaviour, number)
    return {
        **body,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage(prompt, json.dumps(content, ensure_ascii=False), warm, count),
    }


def usage(prompt: Prompt, output: str, warm: bool, count: Count) -> Json:
    """Return usage figures; what a cache mark covers is written the first time and read later."""
    cached = count(prompt.prefix) if prompt.prefix else 0
    read, written = (cached, 0) if warm else (0, cached)
    return {
        "input_tokens": max(count(prompt.text) - cached, 0),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": count(output),
        "service_tier": "standard",
    }


def calls(prompt: Prompt, behaviour: Behaviour, number: int) -> list[tuple[str, Call]]:
    """Return the tool calls of an answer, each with its id; those that were given get ids of their own."""
    if behaviour.calls:
        return [(f"call_standin_{number}_{at}", call) for at, call in enumerate(behaviour.calls)]
    return [("toolu_standin", Call(name=prompt.tools[0] if prompt.tools else "bash"))]


def _content(prompt: Prompt, behaviour: Behaviour, number: int) -> tuple[list[Json], str]:
    text = summaries.text(prompt, behaviour)
    if behaviour.stops:
        return _stopped(prompt, behaviour, number, text), behaviour.stops
    if roughly(text) > prompt.max_tokens:
        return [{"type": "text", "text": text[: prompt.max_tokens * 4]}], "max_tokens"
    return [{"type": "text", "text": text}], "end_turn"


def _stopped(prompt: Prompt, behaviour: Behaviour, number: int, text: str) -> list[Json]:
    if behaviour.stops == "refusal":
        return []
    if behaviour.stops == "tool_use":
        made = calls(prompt, behaviour, number)
        return [{"type": "tool_use", "id": name, **call.model_dump()} for name, call in made]
    return [{"type": "text", "text": text[: len(text) // 2]}]
