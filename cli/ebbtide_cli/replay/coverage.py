"""Whether what left the buffer is in a chunk of a record: counted on the raw transcript, not as the core
reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ebbtide_cli.replay.drive import Step
from ebbtide_core.contract.record import SummaryRecord

_OUTSIDE_ROLES: Final = frozenset({"system", "developer"})
_OUTSIDE_TYPE: Final = "configuration_update"


class CoverageCheck:
    """Follows one session. `uncovered` holds the raw indices of messages that are gone and in no chunk."""

    def __init__(self, messages: Sequence[dict[str, Any]]) -> None:
        self._messages = messages
        self._lineage = _lineage_indices(messages)
        self._covered: set[int] = set()
        self.uncovered: set[int] = set()

    def take(self, step: Step) -> None:
        """Look at one turn's kept buffer."""
        swap = step.turn.swap
        if swap is not None:
            self._covered |= _in_chunks(swap.record)
        elif len(step.turn.buffer) == len(step.before):
            return
        kept = {id(message) for message in step.turn.buffer}
        for index in range(step.raw):
            message = self._messages[index]
            if id(message) in kept or self._lineage[index] in self._covered or message in step.turn.buffer:
                continue
            self.uncovered.add(index)


def _lineage_indices(messages: Sequence[dict[str, Any]]) -> list[int]:
    """Return each message's place in the lineage, -1 for those outside it: system and ephemeral ones."""
    found, count = [], 0
    for message in messages:
        marks = message.get("ebbtide")
        ephemeral = isinstance(marks, dict) and bool(marks.get("ephemeral"))
        outside = message.get("role") in _OUTSIDE_ROLES or message.get("type") == _OUTSIDE_TYPE
        if outside or ephemeral:
            found.append(-1)
        else:
            found.append(count)
            count += 1
    return found


def _in_chunks(record: SummaryRecord) -> set[int]:
    """Return the lineage indices that a record summarised: its chunks, and what its base still carried."""
    chunks = {i for chunk in record.coverage for i in range(chunk.first, chunk.stop)}
    return chunks | {carried.index for carried in record.released}
