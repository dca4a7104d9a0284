"""OpenAI's APIs through the real SDK: answers, calls, errors, and what is rejected."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletion

from ebbtide_core.summary.model import Summary
from tests.standin import Behaviour, Call, Kind, Settings, StandIn
from tests.standin.talk import SCHEMA

MODEL = "gpt-6-sol"
TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
CALL = Call(name="search", input={"text": "ünïcode"})


@pytest_asyncio.fixture
async def asker(standin: StandIn) -> AsyncIterator[AsyncOpenAI]:
    """The real client, without retries."""
    async with AsyncOpenAI(
        base_url=f"{standin.url}/v1", api_key="k-test", max_retries=0, timeout=20.0
    ) as found:
        yield found


async def ask(asker: AsyncOpenAI, words: str = "MSGID-a said go", **more: Any) -> ChatCompletion:
    """Return the answer to these words."""
    request: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": words}], **more}
    completion: ChatCompletion = await asker.chat.completions.create(**request)
    return completion


async def failure(asker: AsyncOpenAI, **more: Any) -> openai.APIStatusError:
    """Return the error that a request ends in."""
    with pytest.raises(openai.APIStatusError) as caught:
        await ask(asker, **more)
    return caught.value


async def test_an_answer_tells_what_it_saw_and_what_it_costs(standin: StandIn, asker: AsyncOpenAI) -> None:
    """Text, usage, request id, and the request in the log."""
    answer = await ask(asker)
    assert answer.choices[0].message.content == "Seen 1 messages. MSGID-a"
    assert answer.choices[0].finish_reason == "stop"
    assert answer._request_id == "req_standin_1"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    [entry] = standin.control.requests()
    assert (entry["outcome"], entry["ids"], entry["usage"]) == (
        "good",
        ["MSGID-a"],
        answer.usage.to_dict(exclude_unset=True),
    )


async def test_a_schema_is_answered_with_json(asker: AsyncOpenAI) -> None:
    """Structured output works as with the other API."""
    form = {"type": "json_schema", "json_schema": {"name": "summary", "schema": SCHEMA}}
    content = (await ask(asker, response_format=form)).choices[0].message.content
    assert Summary.model_validate_json(content or "").identifiers == ("MSGID-a",)


async def test_calls_are_made_as_told_and_each_has_its_id(standin: StandIn, asker: AsyncOpenAI) -> None:
    """The calls given, with JSON arguments; their results are taken, and the ids never repeat."""
    behaviour = Behaviour(kind=Kind.TOOL_CALL, calls=(CALL, CALL))
    standin.control.queue(behaviour, behaviour)
    messages: list[Any] = [{"role": "user", "content": "look"}]
    ids: list[str] = []
    for _ in range(2):
        choice = (await ask(asker, messages=messages, tools=[TOOL])).choices[0]
        assert choice.finish_reason == "tool_calls"
        calls = choice.message.tool_calls or []
        for call in calls:
            assert call.type == "function"
            assert (call.function.name, json.loads(call.function.arguments)) == ("search", CALL.input)
        ids += [call.id for call in calls]
        messages.append(choice.message.to_dict())
        messages += [{"role": "tool", "tool_call_id": call.id, "content": "none"} for call in calls]
    assert len(set(ids)) == 4
    assert (await ask(asker, messages=messages, tools=[TOOL])).choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("behaviour", "reason", "content"),
    [
        (Behaviour(kind=Kind.TRUNCATED), "length", "Seen 1 messa"),
        (Behaviour(kind=Kind.REFUSAL), "stop", None),
        (Behaviour(kind=Kind.NULL), "stop", None),
        (Behaviour(kind=Kind.TEXT, text="given"), "stop", "given"),
    ],
)
async def test_an_answer_can_end_early(
    standin: StandIn, asker: AsyncOpenAI, behaviour: Behaviour, reason: str, content: str | None
) -> None:
    """Cut, refused, empty, or any text."""
    standin.control.queue(behaviour)
    choice = (await ask(asker)).choices[0]
    assert (choice.finish_reason, choice.message.content) == (reason, content)
    assert bool(choice.message.refusal) == (behaviour.kind is Kind.REFUSAL)


async def test_an_answer_longer_than_asked_for_is_cut(asker: AsyncOpenAI) -> None:
    """The bound has two names."""
    bounds: list[dict[str, Any]] = [{"max_tokens": 2}, {"max_completion_tokens": 2}]
    for bound in bounds:
        choice = (await ask(asker, **bound)).choices[0]
        assert (choice.finish_reason, choice.message.content) == ("length", "Seen 1 m")


@pytest.mark.parametrize(
    ("kind", "error", "code"),
    [
        (Kind.BAD_REQUEST, openai.BadRequestError, None),
        (Kind.PROMPT_TOO_LONG, openai.BadRequestError, "context_length_exceeded"),
        (Kind.UNAUTHORIZED, openai.AuthenticationError, "invalid_api_key"),
        (Kind.NOT_FOUND, openai.NotFoundError, "model_not_found"),
        (Kind.RATE_LIMITED, openai.RateLimitError, "rate_limit_exceeded"),
        (Kind.SPEND_LIMIT, openai.RateLimitError, "insufficient_quota"),
        (Kind.OVERLOADED, openai.InternalServerError, None),
    ],
)
async def test_an_error_comes_back_as_the_sdks(
    standin: StandIn, asker: AsyncOpenAI, kind: Kind, error: type[openai.APIStatusError], code: str | None
) -> None:
    """Status and code are OpenAI's, and the body has its shape."""
    standin.control.queue(kind)
    caught = await failure(asker)
    assert isinstance(caught, error)
    assert caught.code == code
    assert caught.type
    assert caught.request_id == "req_standin_1"


async def test_a_prompt_beyond_the_window_is_refused(standin: StandIn, asker: AsyncOpenAI) -> None:
    """By the code that hosts look for."""
    standin.control.set(Settings(window=5))
    assert (await failure(asker)).code == "context_length_exceeded"


BAD: dict[str, dict[str, Any]] = {
    "no messages": {"messages": []},
    "an orphan": {"messages": [{"role": "tool", "tool_call_id": "x", "content": "ok"}]},
    "a mark of ours": {"messages": [{"role": "user", "content": "x", "ebbtide": {}}]},
    "a tool of the other API": {"tools": [{"name": "f", "input_schema": {}}]},
    "no output": {"max_completion_tokens": 0},
    "no model": {"model": None},
}


@pytest.mark.parametrize("name", BAD)
async def test_a_request_that_the_api_rejects_is_rejected(
    standin: StandIn, asker: AsyncOpenAI, name: str
) -> None:
    """A client's own faults are found here, and take nothing from the queue."""
    standin.control.queue(Kind.PROSE)
    assert (await failure(asker, **BAD[name])).status_code == 400
    assert standin.control.requests()[0]["outcome"] == "rejected"
    assert "went well" in ((await ask(asker)).choices[0].message.content or "")


async def test_responses_are_answered_with_text_or_calls(standin: StandIn, asker: AsyncOpenAI) -> None:
    """Enough for a loop of the SDK's Responses client."""
    told = await asker.responses.create(model=MODEL, input="MSGID-a said go")
    assert told.output_text == "Seen 1 messages. MSGID-a"
    assert told.usage is not None
    assert told.usage.input_tokens > 0
    standin.control.queue(Behaviour(kind=Kind.TOOL_CALL, calls=(CALL,)))
    [item] = (await asker.responses.create(model=MODEL, input="look")).output
    assert item.type == "function_call"
    assert (item.name, json.loads(item.arguments)) == ("search", CALL.input)


async def test_a_response_without_input_is_rejected(asker: AsyncOpenAI) -> None:
    """An empty list is no request."""
    with pytest.raises(openai.BadRequestError):
        await asker.responses.create(model=MODEL, input=[])
