"""Histories, requests and a scripted model for tests of the harness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from ebbtide.harness import CompactionRequest, ContextSignal, estimate_message_tokens, render_request_messages

Message = dict[str, Any]


class Answer(BaseModel):
    """An assistant message as an SDK's object."""

    role: str = "assistant"
    content: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class Choice(BaseModel):
    """One choice of a response."""

    message: Answer


class Usage(BaseModel):
    """What a response cost."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Response(BaseModel):
    """A response as the Chat Completions API has it."""

    object: str = "chat.completion"
    choices: list[Choice]
    usage: Usage | None = None


def answered(text: str | None, usage: tuple[int, int] | None = None, **more: Any) -> Response:
    """A response with that text."""
    cost = (
        Usage(prompt_tokens=usage[0], completion_tokens=usage[1], total_tokens=sum(usage)) if usage else None
    )
    return Response(choices=[Choice(message=Answer(content=text, **more))], usage=cost)


class ScriptedModel:
    """Answers with the responses given, and keeps what it was asked."""

    def __init__(self, *answers: str | Response) -> None:
        self._answers = [answered(a) if isinstance(a, str) else a for a in answers]
        self.asked: list[list[Message]] = []
        self.args: list[dict[str, Any] | None] = []

    async def __call__(
        self, messages: list[Message], extra_call_args: dict[str, Any] | None = None
    ) -> Response:
        self.asked.append(messages)
        self.args.append(extra_call_args)
        return self._answers.pop(0)


def text(tokens: int, name: str = "") -> str:
    """A text of so many estimated tokens that begins with a name."""
    return name + "x" * (4 * tokens - len(name))


def user(tokens: int = 1, name: str = "") -> Message:
    """What a user says."""
    return {"role": "user", "content": text(tokens, name)}


def assistant(tokens: int = 1, name: str = "") -> Message:
    """What an assistant says."""
    return {"role": "assistant", "content": text(tokens, name)}


def calls(*ids: str) -> Message:
    """An assistant message that calls tools."""
    listed = [
        {"id": i, "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}} for i in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def result(call_id: str, tokens: int = 1) -> Message:
    """A tool's result."""
    return {"role": "tool", "tool_call_id": call_id, "content": text(tokens)}


def request(
    history: Sequence[Any],
    model: Any = None,
    *,
    window: int = 100_000,
    trigger: int | None = None,
    estimate: int | None = None,
    instructions: Any = "Be brief.",
    model_args: dict[str, Any] | None = None,
) -> CompactionRequest:
    """A request as a shim makes it; without an estimate, of a run that is at its trigger."""
    measured = estimate_message_tokens(render_request_messages(instructions, history))
    at = measured if trigger is None else trigger
    return CompactionRequest(
        instructions=instructions,
        history=tuple(history),
        signal=ContextSignal(
            estimated_tokens=measured if estimate is None else estimate,
            reported_tokens=None,
            instructions_tokens=estimate_message_tokens(render_request_messages(instructions, ())),
            context_window=window,
            trigger_tokens=at,
            source="estimate",
            turn_count=7,
            history_item_count=len(history),
        ),
        model=model if model is not None else ScriptedModel(),
        model_args=model_args,
        estimator=estimate_message_tokens,
        reason="auto",
    )
