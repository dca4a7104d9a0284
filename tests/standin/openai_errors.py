"""OpenAI's errors: its shape, and what it says where Anthropic says something else."""

from __future__ import annotations

from typing import Any, Final

from tests.standin import errors
from tests.standin.errors import Error
from tests.standin.kinds import Kind

TYPES: Final = {413: "invalid_request_error", 429: "rate_limit_error"}
"""The type of an error by its status; others of the client are `invalid_request_error`, of the server
`server_error`."""

CODES: Final = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def too_long(tokens: int, window: int) -> Error:
    """Return the error of a prompt that the window does not hold."""
    message = f"This model's maximum context length is {window} tokens, your messages resulted in {tokens}."
    return Error(400, message, "context_length_exceeded")


PRESETS: Final[dict[Kind, Error]] = {
    **errors.PRESETS,
    Kind.PROMPT_TOO_LONG: too_long(208_310, 200_000),
    Kind.UNAUTHORIZED: Error(401, "Incorrect API key provided."),
    Kind.NOT_FOUND: Error(404, "The model does not exist or you do not have access to it."),
    Kind.RAMP_LIMIT: Error(429, "Rate limit reached.", retry_after=60.0),
    Kind.SPEND_LIMIT: Error(429, "You exceeded your current quota.", "insufficient_quota"),
    Kind.CONTRACT_LIMIT: Error(429, "You exceeded your current quota.", "insufficient_quota"),
    Kind.OVERLOADED: Error(503, "The engine is currently overloaded, please try again later."),
}
"""Those of `errors`, but for what OpenAI tells by another status or code."""


def body(error: Error) -> dict[str, Any]:
    """Return the body of an error in OpenAI's shape; its own code, else that of its status."""
    usual = "invalid_request_error" if error.status < 500 else "server_error"
    code = error.code or CODES.get(error.status)
    kind = code if code == "insufficient_quota" else TYPES.get(error.status, usual)
    return {"error": {"message": error.message, "type": kind, "param": None, "code": code}}
