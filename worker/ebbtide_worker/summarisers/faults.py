"""What an error of the Anthropic SDK says about a call: one pure function."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Final

from anthropic import (
    APIConnectionError,
    APIResponseValidationError,
    APIStatusError,
    APITimeoutError,
    CredentialsError,
)

from ebbtide_core.contract.record import Usage
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault

_BY_STATUS: Final = {
    401: FaultKind.AUTH,
    402: FaultKind.SPEND_LIMIT,
    403: FaultKind.FORBIDDEN,
    404: FaultKind.NOT_FOUND,
    408: FaultKind.TIMEOUT,
    409: FaultKind.UNAVAILABLE,
    413: FaultKind.TOO_LARGE,
    429: FaultKind.RATE_LIMITED,
    504: FaultKind.TIMEOUT,
    529: FaultKind.OVERLOADED,
}
"""Of any other status, 5xx is UNAVAILABLE, 4xx BAD_REQUEST, and what is no error at all UNREADABLE."""

_SPENT: Final = frozenset({"enforced_spend_limit_reached", "contract_spend_limit_reached"})
"""Codes of an error 429 that no wait of a job's length ends."""

_RAMP: Final = "ramp_limit_exceeded"
"""Code of an error 429 for use that rises too fast."""

_UNSENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
"""Causes, in the HTTP client under the SDK, for which no request was sent."""

_TOO_LONG: Final = ("prompt is too long", "exceed context limit")
_SPENT_OPENINGS: Final = ("you have reached your specified", "your credit balance is too low")
"""The API has no error code for any of these, so the text decides, among errors 400 only. The first opening
is of a spend limit that a workspace or an organisation has set itself.
"""

_ADVICE: Final = {
    FaultKind.AUTH: "check the key",
    FaultKind.FORBIDDEN: "check what the key may use, the model above all",
    FaultKind.SPEND_LIMIT: "raise the spend limit, or add credit",
    FaultKind.NOT_FOUND: "check model and base URL",
    FaultKind.BAD_REQUEST: "check model and base URL",
}
_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{1,80}")


def fault_of(error: BaseException) -> SummariserFault:
    """Return the fault that an error of a call amounts to.

    Nothing of the error's own text is taken over, which may quote a prompt, a page or a key: only status,
    names and request id. The call is counted; no usage comes with an error.
    """
    kind, told = _judged(error)
    detail = "; ".join(filter(None, (told, _ADVICE.get(kind, ""))))
    return SummariserFault(
        kind,
        detail,
        Usage(calls=1),
        retry_after=_retry_after(error.response.headers) if isinstance(error, APIStatusError) else None,
        uncertain=_uncertain(kind, error),
        ramp=isinstance(error, APIStatusError) and error.error_code == _RAMP,
    )


def _judged(error: BaseException) -> tuple[FaultKind, str]:
    match error:
        case APIStatusError():
            return _of_status(error), _names(error)
        case APITimeoutError() | TimeoutError():
            return FaultKind.TIMEOUT, "no answer in time"
        case APIConnectionError():
            return FaultKind.CONNECTION, type(error.__cause__ or error).__name__
        case CredentialsError():
            return FaultKind.AUTH, type(error).__name__
        case APIResponseValidationError() | JSONDecodeError():
            return FaultKind.UNREADABLE, type(error).__name__
        case _:
            return FaultKind.UNEXPECTED, type(error).__name__


def _uncertain(kind: FaultKind, error: BaseException) -> bool:
    """Say whether the provider may have worked on a request that it gave no answer to."""
    unsent = type(error.__cause__).__name__ in _UNSENT
    return kind in (FaultKind.TIMEOUT, FaultKind.CONNECTION) and not unsent


def _of_status(error: APIStatusError) -> FaultKind:
    status = error.status_code
    if status == 400:
        return _of_bad_request(error)
    if status == 429 and error.error_code in _SPENT:
        return FaultKind.SPEND_LIMIT
    if status < 400:
        return FaultKind.UNREADABLE
    return _BY_STATUS.get(status, FaultKind.UNAVAILABLE if status >= 500 else FaultKind.BAD_REQUEST)


def _of_bad_request(error: APIStatusError) -> FaultKind:
    if any(words in error.message.lower() for words in _TOO_LONG):
        return FaultKind.TOO_LONG
    said = str(error.api_message).lower()
    return FaultKind.SPEND_LIMIT if said.startswith(_SPENT_OPENINGS) else FaultKind.BAD_REQUEST


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the provider wants to be left alone, None when it does not say so.

    A date counts from the response's own, so that no clock of ours is compared with theirs.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name, ""))
        if seconds is not None:
            return unit * seconds
    try:
        until, now = (parsedate_to_datetime(headers[name]) for name in ("retry-after", "date"))
        return max(0.0, (until - now).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _names(error: APIStatusError) -> str:
    told = filter(None, map(_word, (error.type, error.error_code, error.request_id)))
    return " ".join([f"HTTP {error.status_code}", *told])


def _word(value: object) -> str:
    """Return a name as it came, "" for what is none: error bodies may hold anything."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
