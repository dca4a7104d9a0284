"""What an error of the Anthropic SDK says about a call: one pure function."""

from __future__ import annotations

import re
from typing import Final

from anthropic import APIConnectionError, APIStatusError, APITimeoutError, CredentialsError

from ebbtide_core.contract.record import Usage
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault

_BY_STATUS: Final = {
    401: FaultKind.AUTH,
    402: FaultKind.AUTH,
    403: FaultKind.AUTH,
    408: FaultKind.TIMEOUT,
    413: FaultKind.TOO_LONG,
    429: FaultKind.RATE_LIMITED,
    504: FaultKind.TIMEOUT,
}
"""Spend limits are 429 as well: the error's code, in the detail, tells them apart."""

_TOO_LONG: Final = ("prompt is too long", "exceed context limit")
_OPENINGS: Final = {
    "you have reached your specified": FaultKind.RATE_LIMITED,
    "your credit balance is too low": FaultKind.AUTH,
}
"""The API has no error code for any of these, so the text decides, among errors 400 only. The first opening
is of a spend limit that a workspace or an organisation has set itself.
"""

_ADVICE: Final = {
    FaultKind.AUTH: "check the key, what it may use, and its credit",
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
    return SummariserFault(kind, detail, Usage(calls=1))


def _judged(error: BaseException) -> tuple[FaultKind, str]:
    match error:
        case APIStatusError():
            return _of_status(error), _names(error)
        case APITimeoutError() | TimeoutError():
            return FaultKind.TIMEOUT, "no answer in time"
        case APIConnectionError():
            return FaultKind.UNAVAILABLE, type(error.__cause__ or error).__name__
        case CredentialsError():
            return FaultKind.AUTH, type(error).__name__
        case _:
            return FaultKind.UNEXPECTED, type(error).__name__


def _of_status(error: APIStatusError) -> FaultKind:
    status = error.status_code
    if status == 400:
        return _of_bad_request(error)
    if status >= 500:
        return _BY_STATUS.get(status, FaultKind.UNAVAILABLE)
    return _BY_STATUS.get(status, FaultKind.BAD_REQUEST if status >= 400 else FaultKind.UNEXPECTED)


def _of_bad_request(error: APIStatusError) -> FaultKind:
    if any(words in error.message.lower() for words in _TOO_LONG):
        return FaultKind.TOO_LONG
    said = str(error.api_message).lower()
    return next((kind for words, kind in _OPENINGS.items() if said.startswith(words)), FaultKind.BAD_REQUEST)


def _names(error: APIStatusError) -> str:
    told = filter(None, map(_word, (error.type, error.error_code, error.request_id)))
    return " ".join([f"HTTP {error.status_code}", *told])


def _word(value: object) -> str:
    """Return a name as it came, "" for what is none: error bodies may hold anything."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
