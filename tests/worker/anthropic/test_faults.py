"""The one function from errors of the SDK to faults, over constructed errors."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic._error_classes import make_status_error

from ebbtide_worker.summarisers.base import UNREAD, FaultKind
from ebbtide_worker.summarisers.faults import fault_of

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/messages", headers={"x-api-key": "sk-secret"})


def status_error(
    status: int, type_: str = "", code: str = "", message: str = "no", **headers: str
) -> anthropic.APIStatusError:
    """The error that the SDK makes of a response."""
    details: dict[str, Any] = {"details": {"error_code": code}} if code else {}
    body = {"type": "error", "error": {"type": type_ or "some_error", "message": message, **details}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx2.Response(status, request=REQUEST, headers={"request-id": "req_1", **named})
    return make_status_error(f"Error code: {status} - {body}", body=body, response=response)


_SPENT = "You have reached your specified"

STATUSES = [
    (400, "invalid_request_error", "", "max_tokens: too high", FaultKind.BAD_REQUEST),
    (400, "invalid_request_error", "", "prompt is too long: 9 tokens > 8 maximum", FaultKind.TOO_LONG),
    (
        400,
        "invalid_request_error",
        "",
        "input length and `max_tokens` exceed context limit",
        FaultKind.TOO_LONG,
    ),
    (400, "invalid_request_error", "", f"{_SPENT} API usage limits.", FaultKind.SPEND_LIMIT),
    (400, "invalid_request_error", "", f"{_SPENT} workspace API usage limits.", FaultKind.SPEND_LIMIT),
    (400, "invalid_request_error", "", "Your credit balance is too low to access it.", FaultKind.SPEND_LIMIT),
    (400, "invalid_request_error", "", "messages.0: 'Your credit balance is too low'", FaultKind.BAD_REQUEST),
    (400, "invalid_request_error", "compaction_incomplete_turn", "no", FaultKind.BAD_REQUEST),
    (401, "authentication_error", "", f"{_SPENT} API usage limits.", FaultKind.AUTH),
    (402, "billing_error", "", "no", FaultKind.SPEND_LIMIT),
    (403, "permission_error", "", "no", FaultKind.FORBIDDEN),
    (404, "not_found_error", "", "model", FaultKind.NOT_FOUND),
    (408, "timeout_error", "", "no", FaultKind.TIMEOUT),
    (409, "conflict_error", "", "no", FaultKind.UNAVAILABLE),
    (413, "request_too_large", "", "no", FaultKind.TOO_LARGE),
    (422, "invalid_request_error", "", "no", FaultKind.BAD_REQUEST),
    (429, "rate_limit_error", "", "prompt is too long", FaultKind.RATE_LIMITED),
    (429, "rate_limit_error", "enforced_spend_limit_reached", "no", FaultKind.SPEND_LIMIT),
    (429, "rate_limit_error", "contract_spend_limit_reached", "no", FaultKind.SPEND_LIMIT),
    (429, "rate_limit_error", "ramp_limit_exceeded", "no", FaultKind.RATE_LIMITED),
    (500, "api_error", "", "no", FaultKind.UNAVAILABLE),
    (501, "api_error", "", "no", FaultKind.UNAVAILABLE),
    (503, "api_error", "", "no", FaultKind.UNAVAILABLE),
    (504, "timeout_error", "", "no", FaultKind.TIMEOUT),
    (529, "overloaded_error", "", "no", FaultKind.OVERLOADED),
    (529, "overloaded_error", "compaction_unavailable", "no", FaultKind.OVERLOADED),
    (599, "", "", "no", FaultKind.UNAVAILABLE),
    (302, "", "", "no", FaultKind.UNREADABLE),
]
"""Every row of the API's errors, and what comes of it."""

COUNTED = {FaultKind.BAD_REQUEST, FaultKind.TOO_LONG, FaultKind.TOO_LARGE}


@pytest.mark.parametrize(("status", "type_", "code", "message", "kind"), STATUSES)
def test_a_status_has_one_kind(status: int, type_: str, code: str, message: str, kind: FaultKind) -> None:
    """Limits, 5xx and time-outs are the provider's, keys and credit the account's; the request counts."""
    found = fault_of(status_error(status, type_, code, message))
    assert found.kind is kind
    assert (found.kind in UNREAD) == (kind not in COUNTED)
    assert (found.usage.calls, found.retry_after, found.block) == (1, None, None)
    assert found.uncertain == (kind is FaultKind.TIMEOUT)


def caused(error: Exception, cause: Exception) -> Exception:
    """The error, as raised from its cause."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        (anthropic.APITimeoutError(REQUEST), FaultKind.TIMEOUT, "no answer in time"),
        (TimeoutError(), FaultKind.TIMEOUT, "no answer in time"),
        (anthropic.APIConnectionError(request=REQUEST), FaultKind.CONNECTION, "APIConnectionError"),
        (
            caused(anthropic.APIConnectionError(request=REQUEST), httpx2.ConnectError("sk-secret")),
            FaultKind.CONNECTION,
            "ConnectError",
        ),
        (
            anthropic.CredentialsError("sk-secret"),
            FaultKind.AUTH,
            "CredentialsError; check the key",
        ),
        (json.JSONDecodeError("sk-secret", "sk-secret", 0), FaultKind.UNREADABLE, "JSONDecodeError"),
        (ValueError("sk-secret"), FaultKind.UNEXPECTED, "ValueError"),
    ],
)
def test_an_error_without_a_status_has_one_kind(error: Exception, kind: FaultKind, detail: str) -> None:
    """No response: the provider's or the network's; anything else is unexpected. Their texts are not told."""
    found = fault_of(error)
    assert (found.kind, found.detail) == (kind, detail)


def test_a_status_is_told_by_its_names() -> None:
    """Status, type, code and request id are in the detail."""
    found = fault_of(status_error(429, "rate_limit_error", "enforced_spend_limit_reached"))
    assert found.detail == (
        "HTTP 429 rate_limit_error enforced_spend_limit_reached req_1; raise the spend limit, or add credit"
    )


def test_names_that_are_none_are_left_out() -> None:
    """A body may hold anything where a name should be."""
    found = fault_of(status_error(500, "line one\nsk-secret", "x" * 100, "sk-secret"))
    assert found.detail == "HTTP 500 req_1"


NOW = "Tue, 01 Dec 2026 00:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "30"}, 30.0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after": "30", "retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "Tue, 01 Dec 2026 00:01:30 GMT", "date": NOW}, 90.0),
        ({"retry_after": "Mon, 30 Nov 2026 00:00:00 GMT", "date": NOW}, 0.0),
        ({"retry_after": "Tue, 01 Dec 2026 00:01:30 GMT"}, None),
        ({"retry_after": "Tue, 01 Dec 2026 00:01:30 -0000", "date": NOW}, None),
        ({"retry_after": "soon", "date": NOW}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "nan", "retry_after_ms": "inf"}, None),
        ({}, None),
    ],
)
def test_what_the_provider_asks_to_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, a date against the response's own; anything else is nothing."""
    assert fault_of(status_error(429, **headers)).retry_after == seconds


@pytest.mark.parametrize(
    ("error", "cause", "uncertain"),
    [
        (anthropic.APIConnectionError(request=REQUEST), httpx2.ReadError("x"), True),
        (anthropic.APIConnectionError(request=REQUEST), httpx2.RemoteProtocolError("x"), True),
        (anthropic.APIConnectionError(request=REQUEST), httpx2.ConnectError("x"), False),
        (anthropic.APITimeoutError(REQUEST), httpx2.ReadTimeout("x"), True),
        (anthropic.APITimeoutError(REQUEST), httpx2.ConnectTimeout("x"), False),
        (anthropic.APITimeoutError(REQUEST), httpx2.PoolTimeout("x"), False),
    ],
)
def test_a_request_without_an_answer_may_be_paid(error: Exception, cause: Exception, uncertain: bool) -> None:
    """Unless it was never sent."""
    assert fault_of(caused(error, cause)).uncertain == uncertain
