"""OpenAI's Chat Completions: what is rejected, and the answers. Nothing is streamed, nothing cached."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ebbtide_cli.replay.provider_rules import broken_rules
from tests.standin import answers, summaries
from tests.standin.behaviour import Behaviour
from tests.standin.errors import Error, invalid
from tests.standin.kinds import Kind
from tests.standin.prompt import Prompt, compact, is_json, roughly

Json = dict[str, Any]

UNBOUNDED: Final = 1 << 30
_REFUSAL: Final = "I can't help with that."
_MESSAGE_KEYS: Final = frozenset(
    {"role", "content", "name", "refusal", "annotations", "audio", "tool_calls", "tool_call_id"}
)
_FINISH: Final = {"max_tokens": "length", "model_context_window_exceeded": "length"}


def problem(key: str, body: Any) -> Error | None:
    """Return the error of a request that the API rejects, else None."""
    return unreadable(key, body) or next(map(invalid, _wrong(body)), None)


def unreadable(key: str, body: Any) -> Error | None:
    """Return the error of a request without key, JSON or model, or one that asks for a stream."""
    if not key.removeprefix("Bearer "):
        return Error(401, "You didn't provide an API key.")
    if not is_json(body):
        return invalid("We could not parse the JSON body of your request.")
    if not isinstance(body.get("model"), str):
        return invalid("you must provide a model parameter")
    return invalid("stream: this server answers in one piece only") if body.get("stream") else None


def _wrong(body: Json) -> Iterator[str]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    yield from (f"messages.[{index}]: {rule}" for rule, index in broken_rules("openai", messages))
    for index, message in enumerate(messages):
        yield from (
            f"messages.[{index}]: unknown parameter {name!r}" for name in message.keys() - _MESSAGE_KEYS
        )
    for at, tool in enumerate(body.get("tools") or ()):
        if tool.get("type") != "function" or not (tool.get("function") or {}).get("name"):
            yield f"tools[{at}]: no function with a name"
    if not isinstance(bound(body), int) or bound(body) < 1:
        yield "max_completion_tokens: at least 1"


def bound(body: Json) -> Any:
    """Return the most tokens that the answer may have, `UNBOUNDED` when the request does not say."""
    given = [body[name] for name in ("max_completion_tokens", "max_tokens") if body.get(name) is not None]
    return given[0] if given else UNBOUNDED


def prompt(body: Json) -> Prompt:
    """Return what a request that has no `problem` holds."""
    form = body.get("response_format") or {}
    return Prompt.showing(
        compact(body.get("tools")) + compact(body["messages"]),
        model=body["model"],
        max_tokens=bound(body),
        schema=form["json_schema"].get("schema") if form.get("type") == "json_schema" else None,
        tools=tuple(tool["function"]["name"] for tool in body.get("tools") or ()),
        prefix="",
    )


def message(prompt: Prompt, behaviour: Behaviour, number: int, count: answers.Count) -> Json:
    """Return the body of an answer. `count`: counts tokens."""
    said, reason = _said(prompt, behaviour, number)
    read, written = count(prompt.text), count(json.dumps(said, ensure_ascii=False))
    usage = {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    }
    choice = {"index": 0, "message": {"role": "assistant", **said}, "logprobs": None, "finish_reason": reason}
    return {
        "id": f"chatcmpl-standin-{number}",
        "object": "chat.completion",
        "created": 1_764_547_200,
        "model": prompt.model,
        "choices": [choice],
        "usage": None if behaviour.kind is Kind.NULL else usage,
    }


def _said(prompt: Prompt, behaviour: Behaviour, number: int) -> tuple[Json, str]:
    """Return the answer's content, refusal and calls, and why it ends."""
    said: Json = {"content": None, "refusal": None}
    if behaviour.kind is Kind.NULL:
        return said, "stop"
    if behaviour.stops == "refusal":
        return {**said, "refusal": _REFUSAL}, "stop"
    if behaviour.stops == "tool_use":
        return {**said, "tool_calls": _calls(prompt, behaviour, number)}, "tool_calls"
    text = summaries.text(prompt, behaviour)
    if behaviour.stops:
        return {**said, "content": text[: len(text) // 2]}, _FINISH.get(behaviour.stops, "stop")
    if roughly(text) > prompt.max_tokens:
        return {**said, "content": text[: prompt.max_tokens * 4]}, "length"
    return {**said, "content": text}, "stop"


def _calls(prompt: Prompt, behaviour: Behaviour, number: int) -> list[Json]:
    return [
        {"id": name, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.input)}}
        for name, call in answers.calls(prompt, behaviour, number)
    ]
