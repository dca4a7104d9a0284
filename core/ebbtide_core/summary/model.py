"""The structure of a summary."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from ebbtide_core.contract.base import Contract

MAX_ITEMS: Final = 50
MAX_ITEM_CHARS: Final = 500
MAX_REQUEST_CHARS: Final = 4_000
MAX_LANGUAGE_CHARS: Final = 32

Item = Annotated[str, Field(min_length=1, max_length=MAX_ITEM_CHARS)]
Items = Annotated[tuple[Item, ...], Field(max_length=MAX_ITEMS)]


class RequestState(StrEnum):
    """How far the active request has come."""

    NONE = "none"
    OPEN = "open"
    DONE = "done"


class Summary(Contract):
    """What the model sees instead of the messages before the position.

    `active_request`, `user_constraints` and `identifiers` are verbatim. Five names are those of the widely
    used flat summary (`session_intent`, `files_touched`, `decisions`, `pending_questions`, `next_steps`).
    A request longer than `MAX_REQUEST_CHARS` stays in the buffer as a carried message.
    """

    session_intent: Annotated[str, Field(max_length=MAX_ITEM_CHARS)] = ""
    active_request: Annotated[str, Field(max_length=MAX_REQUEST_CHARS)] = ""
    active_request_state: RequestState = RequestState.NONE
    user_constraints: Items = ()
    decisions: Items = ()
    files_touched: Items = ()
    errors: Items = ()
    identifiers: Items = ()
    open_obligations: Items = ()
    pending_questions: Items = ()
    completed: Items = ()
    next_steps: Items = ()
    language: Annotated[str, Field(max_length=MAX_LANGUAGE_CHARS)] = ""


LIST_FIELDS: Final = (
    "user_constraints",
    "decisions",
    "files_touched",
    "errors",
    "identifiers",
    "open_obligations",
    "pending_questions",
    "completed",
    "next_steps",
)
"""The summary's lists, in the order in which they are shown."""
