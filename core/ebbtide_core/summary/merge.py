"""Merging summaries by code: ordered union, the later supersedes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ebbtide_core.summary.caps import capped, key
from ebbtide_core.summary.model import LIST_FIELDS, RequestState, Summary

_LATEST_ONLY: Final = ("pending_questions", "next_steps")
"""Lists that say how things stand at the end of a part: an earlier part's are overtaken."""


def merge(parts: Sequence[Summary]) -> Summary:
    """Return the summary of consecutive parts, given in the order of the conversation.

    Lists are united in order; of equal items the later one stays. Questions and next steps are those of the
    last part that says anything; an obligation goes when a later part lists it as completed. The first
    intent, the last request and the last state stay; a request without a state is open. Where a list is
    over its cap, the stronger, then the later items stay.
    """
    told = [part for part in map(_settled, parts) if not _blank(part)]
    lists = {name: _united(name, told) for name in LIST_FIELDS}
    return capped(
        lists,
        session_intent=next(_told(part.session_intent for part in told), ""),
        active_request=next(_told(part.active_request for part in reversed(told)), ""),
        active_request_state=_state(told),
        language=next(_told(part.language for part in reversed(parts)), ""),
    )


def _told(texts: Iterable[str]) -> Iterator[str]:
    return (text for text in texts if text.strip())


def _settled(part: Summary) -> Summary:
    if part.active_request.strip() and part.active_request_state is RequestState.NONE:
        return part.model_copy(update={"active_request_state": RequestState.OPEN})
    return part


def _blank(part: Summary) -> bool:
    return (
        part.active_request_state is RequestState.NONE
        and not part.session_intent.strip()
        and not any(item.strip() for name in LIST_FIELDS for item in getattr(part, name))
    )


def _state(parts: Sequence[Summary]) -> RequestState:
    states = (part.active_request_state for part in reversed(parts))
    return next((state for state in states if state is not RequestState.NONE), RequestState.NONE)


def _united(name: str, parts: Sequence[Summary]) -> list[str]:
    taken = parts[-1:] if name in _LATEST_ONLY else parts
    kept: list[str] = []
    for part in taken:
        if name == "open_obligations":
            over = {key(name, item) for item in part.completed}
            kept = [item for item in kept if key(name, item) not in over]
        kept += getattr(part, name)
    return kept
