"""Limits as the API enforces them: buckets by key, and a bound on what is in flight."""

from __future__ import annotations

import asyncio

import anthropic
from anthropic import AsyncAnthropic
from hypothesis import given
from hypothesis import strategies as st

from tests.standin import Behaviour, Kind, Limits, Settings, StandIn
from tests.standin.limits import Meter
from tests.standin.talk import MODEL, ask, client_of, failure

FIGURES = st.integers(1, 20)


@given(
    size=FIGURES,
    per=st.floats(0.5, 100),
    asked=st.lists(st.tuples(st.floats(0, 50), st.integers(0, 25)), max_size=40),
)
def test_what_passes_never_exceeds_burst_and_refill(
    size: int, per: float, asked: list[tuple[float, int]]
) -> None:
    """In any stretch from the start, at most one full bucket and what flowed in since."""
    meter, now, passed = Meter(Limits(input_tokens=size, per=per)), 0.0, 0
    for pause, tokens in asked:
        now += pause
        if meter.ask("k", tokens, 1, now).error is None:
            passed += tokens
        assert passed <= size + now * size / per + 1e-6


@given(st.integers(1, 20), st.floats(0.5, 100))
def test_after_the_time_that_it_tells_a_request_passes(size: int, per: float) -> None:
    """`retry-after` is long enough, in whole seconds, at least one."""
    meter = Meter(Limits(requests=size, per=per))
    assert all(meter.ask("k", 1, 1, 0.0).error is None for _ in range(size))
    refused = meter.ask("k", 1, 1, 0.0).error
    assert refused is not None
    assert refused.retry_after is not None
    assert refused.retry_after == int(refused.retry_after) >= 1
    assert meter.ask("k", 1, 1, refused.retry_after + 1e-6).error is None


def test_a_refused_request_uses_nothing_up() -> None:
    """Too many tokens leave the count of requests as it is, and the other way round."""
    meter = Meter(Limits(requests=2, input_tokens=10))
    assert meter.ask("k", 11, 1, 0.0).error is not None
    assert meter.ask("k", 5, 1, 0.0).error is None
    assert meter.ask("k", 6, 1, 0.0).error is not None
    assert meter.ask("k", 5, 1, 0.0).error is None
    assert meter.ask("k", 0, 1, 0.0).error is not None


async def test_a_key_beyond_its_requests_gets_429(standin: StandIn, client: AsyncAnthropic) -> None:
    """With `retry-after` and what is left in headers; another key, and a counted prompt, are free."""
    standin.control.set(Settings(limits=Limits(requests=2, per=1_000)))
    first = await client.messages.with_raw_response.create(
        model=MODEL, max_tokens=10, messages=[{"role": "user", "content": "go"}]
    )
    assert first.headers["anthropic-ratelimit-requests-limit"] == "2"
    assert first.headers["anthropic-ratelimit-requests-remaining"] == "1"
    await ask(client)

    caught = await failure(client)

    assert type(caught) is anthropic.RateLimitError
    assert 400 <= int(caught.response.headers["retry-after"]) <= 500
    assert caught.response.headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert "2 requests per 1000 seconds" in caught.message
    assert standin.control.requests()[-1]["outcome"] == "rate_limited"
    await client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "go"}])
    async with client_of(standin.url, "k-other") as other:
        assert (await ask(other)).stop_reason == "end_turn"


async def test_a_key_beyond_its_tokens_gets_429(standin: StandIn, client: AsyncAnthropic) -> None:
    """What a prompt weighs counts; a prompt above the whole limit never passes."""
    standin.control.set(Settings(limits=Limits(input_tokens=1_000, per=1_000)))
    assert (await ask(client)).stop_reason == "end_turn"
    caught = await failure(client, "word " * 1_000)
    assert (caught.status_code, caught.response.headers["retry-after"]) == (429, "1000")
    assert "1000 input tokens" in caught.message
    standin.control.set(Settings(limits=Limits()))
    assert (await ask(client, "word " * 1_000)).stop_reason == "end_turn"


async def test_more_than_the_concurrency_gets_529(standin: StandIn, client: AsyncAnthropic) -> None:
    """As long as the others are in flight; the log tells how many were."""
    standin.control.set(Settings(limits=Limits(concurrency=2)))
    standin.control.queue(*[Behaviour(kind=Kind.HANG)] * 2)
    hanging = [asyncio.create_task(ask(client)) for _ in range(2)]
    await asyncio.to_thread(standin.control.requests, count=2)

    caught = await failure(client)

    assert type(caught) is anthropic.OverloadedError
    assert sorted(entry["in_flight"] for entry in standin.control.requests()) == [1, 2, 3]
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
    await asyncio.to_thread(standin.control.requests, count=3, settled=True)
    assert (await ask(client)).stop_reason == "end_turn"
    assert standin.control.requests()[-1]["in_flight"] == 1
