"""Errors by name: the SDK sees status, type, code and headers of the real API."""

from __future__ import annotations

import anthropic
import pytest
from anthropic import AsyncAnthropic
from anthropic.types.compaction_unavailable_error import CompactionUnavailableError
from anthropic.types.shared.contract_spend_limit_reached_error import ContractSpendLimitReachedError
from anthropic.types.shared.enforced_spend_limit_reached_error import EnforcedSpendLimitReachedError
from anthropic.types.shared.ramp_limit_exceeded_error import RampLimitExceededError

from tests.standin import Behaviour, Kind, Settings, StandIn
from tests.standin.errors import PRESETS
from tests.standin.kinds import MEANING
from tests.standin.talk import ask, failure

EXPECTED: dict[Kind, tuple[type[anthropic.APIStatusError], int, str, str | None, str | None]] = {
    Kind.BAD_REQUEST: (anthropic.BadRequestError, 400, "invalid_request_error", None, None),
    Kind.PROMPT_TOO_LONG: (anthropic.BadRequestError, 400, "invalid_request_error", None, None),
    Kind.USAGE_LIMIT: (anthropic.BadRequestError, 400, "invalid_request_error", None, None),
    Kind.UNAUTHORIZED: (anthropic.AuthenticationError, 401, "authentication_error", None, None),
    Kind.BILLING: (anthropic.PaymentRequiredError, 402, "billing_error", None, None),
    Kind.FORBIDDEN: (anthropic.PermissionDeniedError, 403, "permission_error", None, None),
    Kind.NOT_FOUND: (anthropic.NotFoundError, 404, "not_found_error", None, None),
    Kind.TOO_LARGE: (anthropic.ContentTooLargeError, 413, "request_too_large", None, None),
    Kind.RATE_LIMITED: (anthropic.RateLimitError, 429, "rate_limit_error", None, "30"),
    Kind.RAMP_LIMIT: (RampLimitExceededError, 429, "rate_limit_error", "ramp_limit_exceeded", "60"),
    Kind.SPEND_LIMIT: (
        EnforcedSpendLimitReachedError,
        429,
        "rate_limit_error",
        "enforced_spend_limit_reached",
        None,
    ),
    Kind.CONTRACT_LIMIT: (
        ContractSpendLimitReachedError,
        429,
        "rate_limit_error",
        "contract_spend_limit_reached",
        None,
    ),
    Kind.SERVER_ERROR: (anthropic.InternalServerError, 500, "api_error", None, None),
    Kind.UNAVAILABLE: (anthropic.ServiceUnavailableError, 503, "api_error", None, None),
    Kind.GATEWAY_TIMEOUT: (anthropic.GatewayTimeoutError, 504, "timeout_error", None, None),
    Kind.OVERLOADED: (anthropic.OverloadedError, 529, "overloaded_error", None, None),
    Kind.COMPACTION_UNAVAILABLE: (
        CompactionUnavailableError,
        529,
        "overloaded_error",
        "compaction_unavailable",
        None,
    ),
}


def test_every_kind_has_a_meaning_and_every_named_error_an_expectation() -> None:
    """Nothing is added without a word about it."""
    assert set(MEANING) == set(Kind)
    assert set(EXPECTED) == set(PRESETS)


@pytest.mark.parametrize("kind", EXPECTED)
async def test_a_named_error_is_the_apis_own(standin: StandIn, client: AsyncAnthropic, kind: Kind) -> None:
    """Class, status, type, code, retry-after; then all is well again."""
    error, status, type_, code, after = EXPECTED[kind]
    standin.control.queue(kind)
    caught = await failure(client)
    assert type(caught) is error
    assert (caught.status_code, caught.type, caught.error_code) == (status, type_, code)
    assert caught.response.headers.get("retry-after") == after
    assert caught.request_id == "req_standin_1"
    [entry] = standin.control.requests()
    assert (entry["outcome"], entry["status"], entry["usage"]) == (kind, status, None)
    assert (await ask(client)).stop_reason == "end_turn"


async def test_code_and_time_of_a_named_error_can_be_others(standin: StandIn, client: AsyncAnthropic) -> None:
    """A test says what it needs and leaves the rest as the API has it."""
    standin.control.queue(
        Behaviour(kind=Kind.RATE_LIMITED, retry_after=0.5, error_code="ramp_limit_exceeded")
    )
    caught = await failure(client)
    assert (caught.status_code, caught.error_code) == (429, "ramp_limit_exceeded")
    assert caught.response.headers["retry-after"] == "0.5"


async def test_the_window_is_measured_by_a_tokenizer(standin: StandIn, client: AsyncAnthropic) -> None:
    """The error tells what `count_tokens` tells, and one token more of window is enough."""
    words = "Die Straße nach Süden, 東京, naïve " * 50
    messages = [{"role": "user", "content": words}]
    counted = (
        await client.messages.count_tokens(model="m", messages=messages)  # type: ignore[arg-type]
    ).input_tokens
    assert counted != len(words.encode()) // 4

    standin.control.set(Settings(window=counted - 1))
    caught = await failure(client, words)
    assert caught.api_message == f"prompt is too long: {counted} tokens > {counted - 1} maximum"
    assert caught.status_code == 400

    standin.control.set(Settings(window=counted))
    assert (await ask(client, words)).stop_reason == "end_turn"


async def test_usage_is_exact_when_asked(standin: StandIn, client: AsyncAnthropic) -> None:
    """Then a message costs what `count_tokens` said before."""
    standin.control.set(Settings(exact=True))
    messages = [{"role": "user", "content": "Ein Satz, der gezählt wird. " * 20}]
    counted = await client.messages.count_tokens(model="m", messages=messages)  # type: ignore[arg-type]
    answer = await ask(client, messages=messages)
    assert answer.usage.input_tokens == counted.input_tokens


async def test_a_request_of_too_many_bytes_is_rejected_unread(
    standin: StandIn, client: AsyncAnthropic
) -> None:
    """Bytes count, whatever is in them, and before anything else."""
    standin.control.set(Settings(max_bytes=20_000))
    standin.control.queue(Kind.PROSE)
    caught = await failure(client, "x" * 20_000)
    assert type(caught) is anthropic.ContentTooLargeError
    [entry] = standin.control.requests()
    assert (entry["outcome"], entry["body"]) == ("rejected", "")
    assert "went well" in str((await ask(client)).content)
