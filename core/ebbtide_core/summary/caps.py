"""Building a summary within its limits: items trimmed, repeats dropped, lists cut to their best items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ebbtide_core.jsonio import well_formed
from ebbtide_core.summary.cues import strength
from ebbtide_core.summary.model import (
    LIST_FIELDS,
    MAX_ITEM_CHARS,
    MAX_ITEMS,
    MAX_LANGUAGE_CHARS,
    MAX_REQUEST_CHARS,
    RequestState,
    Summary,
)
from ebbtide_core.summary.text import clipped, normalised

VERBATIM_FIELDS: Final = frozenset({"files_touched", "identifiers"})
"""Lists whose items are names, equal only when each character is."""


def key(field: str, item: str) -> str:
    """Return what makes two items of a list the same item."""
    return item if field in VERBATIM_FIELDS else normalised(item)


def union(field: str, items: Iterable[str]) -> tuple[str, ...]:
    """Return the items in order, blank ones dropped; of equal items the last one stays, at its place."""
    found: dict[str, str] = {}
    for item in items:
        if item.strip():
            name = key(field, item)
            found.pop(name, None)
            found[name] = item
    return tuple(found.values())


def ranked(field: str, items: tuple[str, ...]) -> list[int]:
    """Return the indices of a list's items, the most worth keeping first: by strength, then the later one."""
    return sorted(range(len(items)), key=lambda i: (strength(field, items[i]), i), reverse=True)


def best(field: str, items: tuple[str, ...], size: int = MAX_ITEMS) -> tuple[str, ...]:
    """Return the `size` items most worth keeping, in their order."""
    if len(items) <= size:
        return items
    return tuple(items[i] for i in sorted(ranked(field, items)[:size]))


def capped(
    lists: Mapping[str, Iterable[str]],
    *,
    session_intent: str = "",
    active_request: str = "",
    active_request_state: RequestState = RequestState.NONE,
    language: str = "",
) -> Summary:
    """Return a summary of texts and lists (by field name) of any length, cut to the limits of `Summary`.

    Cut texts end in an ellipsis. Lone surrogates become U+FFFD.
    """
    return Summary(
        session_intent=_text(session_intent, MAX_ITEM_CHARS),
        active_request=_text(active_request, MAX_REQUEST_CHARS),
        active_request_state=active_request_state,
        language=_text(language, MAX_LANGUAGE_CHARS),
        **{name: _items(name, lists.get(name, ())) for name in LIST_FIELDS},
    )


def _text(text: str, limit: int) -> str:
    return clipped(well_formed(text), limit) if text.strip() else ""


def _items(field: str, items: Iterable[str]) -> tuple[str, ...]:
    return best(field, union(field, (_text(item, MAX_ITEM_CHARS) for item in items)))
