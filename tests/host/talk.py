"""Conversations for tests of hosts."""

from __future__ import annotations

from typing import Any

REQUEST = "Please migrate the billing service from billing/app.py to Postgres 15 and never touch legacy/."


def chat(rounds: int, words: int = 90) -> list[dict[str, Any]]:
    """A chat in OpenAI's shape: one request, then `rounds` of an answer and a nudge (about `words` + 25
    tokens)."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": REQUEST}]
    for i in range(rounds):
        messages += said(i, words)
    return messages


def said(i: int, words: int = 90) -> list[dict[str, Any]]:
    """One more round of a chat."""
    return [
        {"role": "assistant", "content": f"Step {i}: I changed file src/module_{i}.py. " + "word " * words},
        {"role": "user", "content": f"fine, go on with step {i + 1}"},
    ]


def reading(i: int, path: str = "src/app.py", words: int = 900) -> list[dict[str, Any]]:
    """A file read once more, in OpenAI's shape: the call, its result, and what the agent says to it."""
    function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
    call = {"id": f"call_{i}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{i}", "content": f"version {i} " + "word " * words},
        {"role": "assistant", "content": f"I have read {path} for the {i}. time."},
        {"role": "user", "content": f"then change line {i}"},
    ]


def tool_round(i: int, size: int = 60) -> list[dict[str, Any]]:
    """A call and its result in Anthropic's shape."""
    call = {"type": "tool_use", "id": f"toolu_{i}", "name": "bash", "input": {"command": f"make step-{i}"}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": f"done {i} " + "ok " * size}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def response_round(i: int, size: int = 60) -> list[dict[str, Any]]:
    """An answer in the Responses shape, reasoning and a function's call, and that call's output."""
    return [
        {"type": "reasoning", "id": f"rs_{i}", "summary": [], "encrypted_content": "gAAA" * 20},
        {
            "type": "function_call",
            "id": f"fc_{i}",
            "call_id": f"call_{i}",
            "name": "bash",
            "arguments": f'{{"command": "make step-{i}"}}',
        },
        {"type": "function_call_output", "call_id": f"call_{i}", "output": f"done {i} " + "ok " * size},
    ]
