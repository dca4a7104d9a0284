"""The request as it goes out: what a shim changes in it for one turn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide_core.dialects.base import Message, PlainMessage
from ebbtide_core.jsonio import equal
from ebbtide_core.lineage.marks import KEY, unmarked

log = logging.getLogger("ebbtide.harness")


@dataclass(frozen=True, slots=True)
class OneTurnView:
    """Messages to send in the place of a history that does not fit; `history` is how that is rendered."""

    history: list[PlainMessage]
    messages: Sequence[Message]

    def shown(self, request: list[PlainMessage], instructions: int) -> list[PlainMessage]:
        """Return the request with the view in the history's place, behind so many instruction messages.

        Another shim may have changed the history's part; then the request is returned as it is.
        """
        end = instructions + len(self.history)
        if not equal(request[instructions:end], self.history):
            log.warning("another shim changed the request, so it goes out whole and may not fit")
            return request
        return [*request[:instructions], *(dict(message) for message in self.messages), *request[end:]]


def failure_notice(error: str) -> PlainMessage:
    """Return the note that tells the model of a failed compaction."""
    return {
        "role": "user",
        "content": (
            "Context compaction failed before this turn, so the conversation stands unshortened. This note "
            "is from the software that runs it, and needs no answer: go on with the task, and keep what you "
            f"read and write short. The error was: {' '.join(error.split()) or 'unknown'}"
        ),
    }


def without_marks(messages: Sequence[Message]) -> list[PlainMessage]:
    """Return copies of the messages without Ebbtide's marks."""
    return [dict(unmarked(message)) for message in messages]


def has_marks(messages: Sequence[Message]) -> bool:
    """Say whether a message carries marks."""
    return any(KEY in message for message in messages)
