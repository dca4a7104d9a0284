"""The API's errors: the one place that maps a name to status, type, code, message and headers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tests.standin.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.standin.behaviour import Behaviour

TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""The type of an error by its status; every other one is an `api_error`."""


@dataclass(frozen=True)
class Error:
    """One error response. `code`: `error.details.error_code`, "" for none. `retry_after`: seconds."""

    status: int
    message: str
    code: str = ""
    retry_after: float | None = None

    @property
    def type(self) -> str:
        """The error's type."""
        return TYPES.get(self.status, "api_error")

    @property
    def headers(self) -> dict[str, str]:
        """The headers beside `request-id`."""
        return {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}

    def body(self, request_id: str) -> dict[str, Any]:
        """Return the body in Anthropic's shape."""
        details = {"details": {"error_code": self.code}} if self.code else {}
        found = {"type": self.type, "message": self.message, **details}
        return {"type": "error", "error": found, "request_id": request_id}


def invalid(message: str, code: str = "") -> Error:
    """Return the error 400 for a request that breaks a rule."""
    return Error(400, message, code)


def too_long(tokens: int, window: int) -> Error:
    """Return the error of a prompt that the window does not hold; the API has no code for it."""
    return invalid(f"prompt is too long: {tokens} tokens > {window} maximum")


_LIMITS: Final = "You have reached your API usage limits"

PRESETS: Final[dict[Kind, Error]] = {
    Kind.BAD_REQUEST: invalid("max_tokens: Input should be greater than or equal to 1"),
    Kind.PROMPT_TOO_LONG: too_long(208_310, 200_000),
    Kind.USAGE_LIMIT: invalid(
        "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC."
    ),
    Kind.UNAUTHORIZED: Error(401, "invalid x-api-key"),
    Kind.BILLING: Error(402, "There is a problem with your billing information."),
    Kind.FORBIDDEN: Error(403, "Your API key does not have permission to use the specified resource."),
    Kind.NOT_FOUND: Error(404, "model: claude-none-1"),
    Kind.TOO_LARGE: Error(413, "Request exceeds the maximum size"),
    Kind.RATE_LIMITED: Error(
        429, "This request would exceed your organization's rate limit.", retry_after=30.0
    ),
    Kind.RAMP_LIMIT: Error(429, "Your use has risen too fast.", "ramp_limit_exceeded", 60.0),
    Kind.SPEND_LIMIT: Error(429, f"{_LIMITS} of this month.", "enforced_spend_limit_reached"),
    Kind.CONTRACT_LIMIT: Error(429, f"{_LIMITS} of your contract.", "contract_spend_limit_reached"),
    Kind.SERVER_ERROR: Error(500, "Internal server error"),
    Kind.UNAVAILABLE: Error(503, "Service unavailable"),
    Kind.GATEWAY_TIMEOUT: Error(504, "Request timed out."),
    Kind.OVERLOADED: Error(529, "Overloaded"),
    Kind.COMPACTION_UNAVAILABLE: Error(
        529, "Compaction is temporarily unavailable.", "compaction_unavailable"
    ),
}
"""Statuses, types and codes are those of the API (its documentation of errors, and the SDK's table of classes
by code). Neither documents a `retry-after` with a spend limit. The SDK never looks at a message; those of
`prompt_too_long` and `usage_limit` are as the API writes them, since it gives these two no code.
"""


def error_of(behaviour: Behaviour, presets: Mapping[Kind, Error] = PRESETS) -> Error | None:
    """Return the error that a behaviour is, or None. Its code and its time replace those of the name."""
    if behaviour.kind is Kind.STATUS:
        error = Error(behaviour.status or 500, "made to fail")
    elif (preset := presets.get(behaviour.kind)) is not None:
        error = preset
    else:
        return None
    after = error.retry_after if behaviour.retry_after is None else behaviour.retry_after
    return replace(error, code=behaviour.error_code or error.code, retry_after=after)
