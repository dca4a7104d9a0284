"""Fitting a summary into a token budget by leaving out the items least worth their room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ebbtide_core.summary.caps import ranked
from ebbtide_core.summary.message import render
from ebbtide_core.summary.model import LIST_FIELDS, RequestState, Summary
from ebbtide_core.summary.text import ELLIPSIS, clipped

SHARES: Final = {
    "user_constraints": 12,
    "identifiers": 6,
    "files_touched": 5,
    "decisions": 4,
    "completed": 3,
    "errors": 2,
    "open_obligations": 2,
    "pending_questions": 2,
    "next_steps": 2,
}
"""How many items of each list are taken in one round: room is handed out in rounds, the best items first."""

_OPEN_SHARE: Final = 2
_DONE_SHARE: Final = 6
_INTENT_SHARE: Final = 6
"""A request still open gets at most half of the room, one that is done and the intent a sixth each."""

_MIN_CLIP_CHARS: Final = 20
_ITEM_BYTES: Final = 3
_PRECISION: Final = 512


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One item of a list, with its size in bytes as rendered."""

    field: str
    index: int
    size: int


def fit(summary: Summary, budget: int, count: Callable[[str], int]) -> Summary:
    """Return the summary, or as much of it as renders to at most `budget` tokens by `count`.

    Whole items are left out, those of the lowest rank first: lists take turns by `SHARES`, within a list the
    stronger, then the later item comes first. Request and intent may be cut, with an ellipsis. What is
    returned was counted itself, so the bound holds for any counter; when nothing fits, it is the empty
    summary. `count` is called about a dozen times.
    """
    if count(render(summary)) <= budget:
        return summary
    candidates = list(_candidates(summary))
    best = Summary()
    low, high = 0, _whole(summary, candidates)
    step = max(1, high // _PRECISION)
    while high - low > step:
        middle = (low + high) // 2
        tried = _within(summary, candidates, middle)
        if count(render(tried)) <= budget:
            best, low = tried, middle
        else:
            high = middle
    return best


def left_out(whole: Summary, fitted: Summary) -> int:
    """Return how many items of a summary are not in what `fit` made of it; a cut text counts as one."""
    items = sum(len(getattr(whole, name)) - len(getattr(fitted, name)) for name in LIST_FIELDS)
    texts = ("session_intent", "active_request", "language")
    return items + sum(1 for name in texts if getattr(whole, name) != getattr(fitted, name))


def _candidates(summary: Summary) -> Iterator[_Candidate]:
    """Yield the items of all lists, the most worth keeping first."""
    turns = [
        (turn / SHARES[field], order, field, index)
        for order, field in enumerate(LIST_FIELDS)
        for turn, index in enumerate(ranked(field, getattr(summary, field)))
    ]
    for _, _, field, index in sorted(turns):
        yield _Candidate(field, index, _size(getattr(summary, field)[index]) + _ITEM_BYTES)


def _size(text: str) -> int:
    return len(text.encode())


def _whole(summary: Summary, candidates: list[_Candidate]) -> int:
    """Return the size in bytes from which on nothing is left out."""
    request, intent = _size(summary.active_request), _size(summary.session_intent)
    items = sum(candidate.size for candidate in candidates)
    return max(request * _request_share(summary), intent * _INTENT_SHARE, request + intent + items)


def _request_share(summary: Summary) -> int:
    return _OPEN_SHARE if summary.active_request_state is RequestState.OPEN else _DONE_SHARE


def _intent(summary: Summary) -> str:
    """Return the intent, "" when the request begins with the same words."""
    intent = summary.session_intent
    return "" if summary.active_request.startswith(intent.removesuffix(ELLIPSIS)) else intent


def _within(summary: Summary, candidates: list[_Candidate], size: int) -> Summary:
    """Return what fits a size in bytes: request, intent, then items by rank, too large ones passed over."""
    request = _cut(summary.active_request, size // _request_share(summary))
    intent = _cut(_intent(summary), size // _INTENT_SHARE)
    room = size - _size(request) - _size(intent)
    taken: dict[str, list[int]] = {name: [] for name in LIST_FIELDS}
    for candidate in candidates:
        if candidate.size <= room:
            taken[candidate.field].append(candidate.index)
            room -= candidate.size
    lists = {name: tuple(getattr(summary, name)[i] for i in sorted(taken[name])) for name in LIST_FIELDS}
    state = summary.active_request_state if request else RequestState.NONE
    kept = {"session_intent": intent, "active_request": request, "active_request_state": state}
    return summary.model_copy(update={**lists, **kept})


def _cut(text: str, size: int) -> str:
    """Return the text cut to a size in bytes, "" when next to nothing would be left."""
    raw = text.encode()
    if len(raw) <= size:
        return text
    chars = len(raw[:size].decode(errors="ignore"))
    return clipped(text, chars) if chars >= _MIN_CLIP_CHARS else ""
