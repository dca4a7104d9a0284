"""What the summary of one version has that another's has not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from typing import Final

from ebbtide_core.summary.model import LIST_FIELDS, Summary

PROSE_FIELDS: Final = ("session_intent", "active_request", "active_request_state", "language")
"""The summary's fields that are one text, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class ListChange:
    """Items of a list that only the later summary has, and that only the earlier one has."""

    field: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextChange:
    """A text as it was and as it is."""

    field: str
    before: str
    after: str

    def lines(self) -> list[str]:
        """Return the lines of a unified diff, without file names."""
        before, after = self.before.splitlines(), self.after.splitlines()
        return list(unified_diff(before, after, lineterm=""))[2:]


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs, field by field; fields that are alike are missing."""

    texts: tuple[TextChange, ...]
    lists: tuple[ListChange, ...]

    @property
    def nothing(self) -> bool:
        """Are both alike?"""
        return not (self.texts or self.lists)


def difference(earlier: Summary, later: Summary) -> Difference:
    """Return what differs from an earlier summary to a later one. Order within a list does not count."""
    return Difference(tuple(_texts(earlier, later)), tuple(_lists(earlier, later)))


def _texts(earlier: Summary, later: Summary) -> Iterator[TextChange]:
    for field in PROSE_FIELDS:
        before, after = str(getattr(earlier, field)), str(getattr(later, field))
        if before != after:
            yield TextChange(field, before, after)


def _lists(earlier: Summary, later: Summary) -> Iterator[ListChange]:
    for field in LIST_FIELDS:
        before, after = getattr(earlier, field), getattr(later, field)
        gained = tuple(item for item in after if item not in before)
        lost = tuple(item for item in before if item not in after)
        if gained or lost:
            yield ListChange(field, gained, lost)
