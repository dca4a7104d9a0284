"""What a host's messages hold that providers may refuse, noted and let through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class IssueKind(StrEnum):
    """What was noted of a message."""

    UNKNOWN_BLOCK = "unknown_block"
    RESULT_WITHOUT_CALL = "result_without_call"
    CALL_WITHOUT_RESULT = "call_without_result"
    LONE_SURROGATE = "lone_surrogate"


@dataclass(frozen=True, slots=True)
class Issue:
    """One oddity of the message at a buffer index."""

    kind: IssueKind
    index: int


class Pairing:
    """Follows calls and results through a buffer and notes those that lack their other half."""

    def __init__(self, known: Pairing | None = None) -> None:
        self._waiting: dict[str, int] = dict(known._waiting) if known else {}
        self._called: set[str] = set(known._called) if known else set()

    def add(
        self, index: int, calls: Sequence[str], results: Sequence[str], only_results: bool
    ) -> list[Issue]:
        """Take one more message and return what it shows: its own orphan results, calls it leaves behind."""
        found = [
            Issue(IssueKind.RESULT_WITHOUT_CALL, index)
            for call_id in results
            if self._waiting.pop(call_id, None) is None and call_id not in self._called
        ]
        if not only_results and self._waiting:
            found.extend(
                Issue(IssueKind.CALL_WITHOUT_RESULT, at) for at in sorted(set(self._waiting.values()))
            )
            self._waiting.clear()
        for call_id in calls:
            self._waiting[call_id] = index
            self._called.add(call_id)
        return found
