"""What a host's messages hold that providers may refuse, noted and let through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol


class IssueKind(StrEnum):
    """What was noted of a message."""

    UNKNOWN_BLOCK = "unknown_block"
    RESULT_WITHOUT_CALL = "result_without_call"
    CALL_WITHOUT_RESULT = "call_without_result"
    DUPLICATE_RESULT = "duplicate_result"
    LONE_SURROGATE = "lone_surrogate"


OF_ONE_MESSAGE: Final = frozenset({IssueKind.UNKNOWN_BLOCK, IssueKind.LONE_SURROGATE})
"""What a message shows by itself, whatever stands around it."""


@dataclass(frozen=True, slots=True)
class Issue:
    """One oddity of the message at a buffer index."""

    kind: IssueKind
    index: int


class Paired(Protocol):
    """What pairing asks of a message: the ids that it calls and answers, whether it is one of several
    messages of an answer, whether it is in the lineage's turn-taking at all."""

    @property
    def calls(self) -> Sequence[str]: ...
    @property
    def results(self) -> Sequence[str]: ...
    @property
    def only_results(self) -> bool: ...
    @property
    def part(self) -> bool: ...
    @property
    def system(self) -> bool: ...


class Pairing:
    """Follows calls and results through a buffer and notes those that lack their other half.

    It is moved on with the buffer that was read last; a reading that goes on from an older one begins anew.
    """

    def __init__(self) -> None:
        self._count = 0
        self._waiting: dict[str, int] = {}
        self._called: set[str] = set()
        self._answered: set[str] = set()

    def going_on(self, entries: Sequence[Paired]) -> Pairing:
        """Return the pairing after exactly these messages: this one if it stands there."""
        if self._count == len(entries):
            return self
        anew = Pairing()
        for index, entry in enumerate(entries):
            anew.add(index, entry)
        return anew

    def add(self, index: int, entry: Paired) -> list[Issue]:
        """Take one more message and return what it shows: its own orphan or repeated results, calls it leaves
        behind."""
        self._count = index + 1
        if entry.system:
            return []
        kinds = map(self._answer, entry.results)
        found = [Issue(kind, index) for kind in kinds if kind is not None]
        if self._waiting and not entry.only_results and not entry.part:
            found.extend(
                Issue(IssueKind.CALL_WITHOUT_RESULT, at) for at in sorted(set(self._waiting.values()))
            )
            self._waiting.clear()
        for call_id in entry.calls:
            self._waiting[call_id] = index
            self._called.add(call_id)
            self._answered.discard(call_id)
        return found

    def _answer(self, call_id: str) -> IssueKind | None:
        """Take one result and return what is odd about it."""
        self._waiting.pop(call_id, None)
        if call_id not in self._called:
            return IssueKind.RESULT_WITHOUT_CALL
        if call_id in self._answered:
            return IssueKind.DUPLICATE_RESULT
        self._answered.add(call_id)
        return None
