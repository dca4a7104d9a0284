"""Checks that a model's summary passes before it is published, and what code puts in whatever it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from ebbtide_core.errors import SummaryRejected
from ebbtide_core.summary.caps import VERBATIM_FIELDS, best, union
from ebbtide_core.summary.model import LIST_FIELDS, MAX_ITEMS, Summary

LOAD_BEARING: Final = ("decisions", "files_touched", "identifiers", "completed", "user_constraints")
"""A summary of more than `MANY_MESSAGES` messages has an item in at least one of these lists."""

MANY_MESSAGES: Final = 20
MIN_INVENTED: Final = 4
"""So many names that the source does not hold, and more than half of all, are a reason to reject."""

_LEDGER: Final = ("user_constraints", "files_touched", "identifiers", "open_obligations")
_THING: Final = "(?:conversation|transcript|history|messages?|content|input)"
_NOTHING_SAID: Final = re.compile(
    rf"\W*(?:the |an? )?(?:{_THING} )?(?:is |was |appears |seems )?(?:to be )?"
    rf"(?:empty|blank)(?: {_THING})?\W*"
    rf"|\W*(?:there (?:is|was|are) )?(?:no|nothing)(?: {_THING})?"
    r"(?: (?:yet|provided|given|found|to summari[sz]e|in the (?:chunk|conversation|transcript)))*\W*",
    re.IGNORECASE,
)
"""What summarisers write for a chunk that they did not see."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A summary that passed, and how many names that the source does not hold were removed from it."""

    summary: Summary
    removed: int


def check(
    summary: Summary,
    *,
    source_messages: int,
    source_text_contains: Callable[[str], bool],
    summary_tokens: int,
    max_tokens: int,
) -> Checked:
    """Return the summary without files and identifiers that do not occur verbatim in its source.

    Raises SummaryRejected, with a reason for each check that failed: the summary says nothing; it stands
    for more than `MANY_MESSAGES` messages and holds no item in the `LOAD_BEARING` lists; at least
    `MIN_INVENTED` and more than half of its names are not in the source; it has more than `max_tokens`
    tokens. The source includes the base summary, see `source.contains`.
    """
    true = _without_invented(summary, source_text_contains)
    named, kept = _names(summary), _names(true)
    reasons = [*_emptiness(true, source_messages)]
    if named - kept >= MIN_INVENTED and 2 * (named - kept) > named:
        reasons.append(f"{named - kept} of {named} files and identifiers are not in the source")
    if summary_tokens > max_tokens:
        reasons.append(f"{summary_tokens} tokens, at most {max_tokens} allowed")
    if reasons:
        raise SummaryRejected(reasons)
    return Checked(true, named - kept)


def _without_invented(summary: Summary, in_source: Callable[[str], bool]) -> Summary:
    names = {field: tuple(filter(in_source, getattr(summary, field))) for field in sorted(VERBATIM_FIELDS)}
    return summary.model_copy(update=names)


def _names(summary: Summary) -> int:
    return sum(len(getattr(summary, field)) for field in VERBATIM_FIELDS)


def _emptiness(summary: Summary, source_messages: int) -> Iterator[str]:
    lists = [name for name in LIST_FIELDS if any(item.strip() for item in getattr(summary, name))]
    if not lists and not _tells(summary.session_intent) and not _tells(summary.active_request):
        yield "the summary is empty"
    elif source_messages > MANY_MESSAGES and not set(lists) & set(LOAD_BEARING):
        yield f"none of {', '.join(LOAD_BEARING)} for {source_messages} messages"


def _tells(text: str) -> bool:
    return bool(text.strip()) and not _NOTHING_SAID.fullmatch(text)


def with_ledger(model_summary: Summary, extracted: Summary) -> Summary:
    """Return a model's summary with what extraction knows for certain put in, so that it survives any model.

    User constraints, files, identifiers and open obligations are united; where a list is full, the extracted
    items stay. Active request and state are the extracted ones, if there is a request.
    """
    update: dict[str, object] = {
        name: _added(name, getattr(model_summary, name), getattr(extracted, name)) for name in _LEDGER
    }
    if extracted.active_request:
        update["active_request"] = extracted.active_request
        update["active_request_state"] = extracted.active_request_state
    return model_summary.model_copy(update=update)


def _added(field: str, theirs: tuple[str, ...], ours: tuple[str, ...]) -> tuple[str, ...]:
    known = union(field, [*theirs, *ours])
    own = set(ours)
    others = tuple(item for item in known if item not in own)
    room = best(field, others, max(0, MAX_ITEMS - (len(known) - len(others))))
    return tuple(item for item in known if item in own or item in room)
