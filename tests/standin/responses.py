"""OpenAI's Responses: text in, text or calls out, and the check of `context_management`.

Which items may follow each other is not looked at, and a threshold that is reached compacts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.standin import answers, summaries
from tests.standin.behaviour import Behaviour
from tests.standin.chat import UNBOUNDED, unreadable
from tests.standin.errors import Error, invalid
from tests.standin.prompt import Prompt, compact

Json = dict[str, Any]

LEAST_THRESHOLD: Final = 1_000


def problem(key: str, body: Any) -> Error | None:
    """Return the error of a request that the API rejects, else None."""
    return unreadable(key, body) or next(map(invalid, _wrong(body)), None)


def _wrong(body: Json) -> Iterator[str]:
    if not isinstance(body.get("input"), str | list) or not body["input"]:
        yield "input: a text or at least one item is required"
    for at, entry in enumerate(body.get("context_management") or ()):
        place = f"context_management[{at}]"
        yield from (f"{place}.{name}: unknown" for name in entry.keys() - {"type", "compact_threshold"})
        if entry.get("type") != "compaction":
            yield f"{place}.type: expected 'compaction'"
        threshold = entry.get("compact_threshold")
        if threshold is not None and (not isinstance(threshold, int) or threshold < LEAST_THRESHOLD):
            yield f"{place}.compact_threshold: expected a whole number of at least {LEAST_THRESHOLD}"


def prompt(body: Json) -> Prompt:
    """Return what a request that has no `problem` holds."""
    return Prompt.showing(
        compact([body.get("instructions"), body.get("tools")]) + compact(body["input"]),
        model=body["model"],
        max_tokens=body.get("max_output_tokens") or UNBOUNDED,
        schema=None,
        tools=tuple(tool.get("name", "") for tool in body.get("tools") or ()),
        prefix="",
    )


def message(prompt: Prompt, behaviour: Behaviour, number: int, count: answers.Count) -> Json:
    """Return the body of an answer. `count`: counts tokens."""
    output = _output(prompt, behaviour, number)
    read, written = count(prompt.text), count(json.dumps(output, ensure_ascii=False))
    return {
        "id": f"resp_standin_{number}",
        "object": "response",
        "created_at": 1_764_547_200,
        "status": "completed",
        "model": prompt.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": read + written,
        },
    }


def _output(prompt: Prompt, behaviour: Behaviour, number: int) -> list[Json]:
    if behaviour.stops == "tool_use":
        return [
            {
                "type": "function_call",
                "id": f"fc_{name}",
                "call_id": name,
                "name": call.name,
                "arguments": json.dumps(call.input),
                "status": "completed",
            }
            for name, call in answers.calls(prompt, behaviour, number)
        ]
    part = {"type": "output_text", "text": summaries.text(prompt, behaviour), "annotations": []}
    item = {"type": "message", "id": f"msg_standin_{number}", "role": "assistant", "status": "completed"}
    return [{**item, "content": [part]}]
