"""The ways in which the stand-in can end a request, by name."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """How a request ends. `MEANING` says what each name stands for, `errors.PRESETS` what an error holds."""

    GOOD = "good"
    FENCED = "fenced"
    PROSE = "prose"
    TEXT = "text"
    EMPTY = "empty"
    MISSING = "missing"
    INVENTED = "invented"
    OBEYED = "obeyed"
    TRUNCATED = "truncated"
    REFUSAL = "refusal"
    TOOL_CALL = "tool_call"
    STOP = "stop"
    NULL = "null"
    HTML = "html"
    DROP = "drop"
    CUT = "cut"
    HANG = "hang"
    STATUS = "status"
    BAD_REQUEST = "bad_request"
    PROMPT_TOO_LONG = "prompt_too_long"
    USAGE_LIMIT = "usage_limit"
    UNAUTHORIZED = "unauthorized"
    BILLING = "billing"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    RAMP_LIMIT = "ramp_limit"
    SPEND_LIMIT = "spend_limit"
    CONTRACT_LIMIT = "contract_limit"
    SERVER_ERROR = "server_error"
    UNAVAILABLE = "unavailable"
    GATEWAY_TIMEOUT = "gateway_timeout"
    OVERLOADED = "overloaded"
    COMPACTION_UNAVAILABLE = "compaction_unavailable"


MEANING: Final[dict[Kind, str]] = {
    Kind.GOOD: "a summary of what was shown",
    Kind.FENCED: "a good summary inside a code fence",
    Kind.PROSE: "an answer that is no JSON",
    Kind.TEXT: "the answer given in `text`",
    Kind.EMPTY: "JSON of empty fields",
    Kind.MISSING: "a good summary, every second field left out",
    Kind.INVENTED: "a summary that names files and identifiers of its own",
    Kind.OBEYED: "an answer that does as an instruction inside the transcript says",
    Kind.TRUNCATED: "half an answer, cut at `max_tokens`",
    Kind.REFUSAL: "no content, stop reason `refusal`",
    Kind.TOOL_CALL: "a tool call instead of text",
    Kind.STOP: "half an answer, with the stop reason in `stop_reason`",
    Kind.NULL: "a message whose content is null, without usage",
    Kind.HTML: "a web page instead of JSON, with `status` (200)",
    Kind.DROP: "the connection is closed without a response",
    Kind.CUT: "the connection is closed in the middle of a response",
    Kind.HANG: "no response for `seconds`, then the connection is closed",
    Kind.STATUS: "an error with `status` (500), `error_code` and `retry_after`",
    Kind.BAD_REQUEST: "400, the request is malformed",
    Kind.PROMPT_TOO_LONG: "400, more tokens than the model's window",
    Kind.USAGE_LIMIT: "400, the spend limit that a workspace has set itself",
    Kind.UNAUTHORIZED: "401, a wrong key",
    Kind.BILLING: "402, no credit",
    Kind.FORBIDDEN: "403, a key without the right",
    Kind.NOT_FOUND: "404, no such model",
    Kind.TOO_LARGE: "413, more bytes than the API takes",
    Kind.RATE_LIMITED: "429 with `retry-after`",
    Kind.RAMP_LIMIT: "429, use has risen too fast",
    Kind.SPEND_LIMIT: "429, the month's spend limit",
    Kind.CONTRACT_LIMIT: "429, the contract's spend limit",
    Kind.SERVER_ERROR: "500",
    Kind.UNAVAILABLE: "503",
    Kind.GATEWAY_TIMEOUT: "504",
    Kind.OVERLOADED: "529",
    Kind.COMPACTION_UNAVAILABLE: "529, of native compaction",
}
"""What each kind is, one line each."""

STOPS: Final[dict[Kind, str]] = {
    Kind.TRUNCATED: "max_tokens",
    Kind.REFUSAL: "refusal",
    Kind.TOOL_CALL: "tool_use",
}
"""Kinds that are a stop reason by another name."""
