"""A degraded view kept from turn to turn: the same bytes go out while they fit, so that they stay cached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ebbtide.turns.standing import Standing
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.buffer import Buffer, Kind
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.view import View


@dataclass(frozen=True, slots=True)
class Sticky:
    """The view sent last, as it went out: of the first `count` messages of a buffer, with its tokens.

    Ephemeral messages at the end are no part of it: hosts replace them from turn to turn.
    """

    buffer: Buffer
    count: int
    view: View
    sent: tuple[Message, ...]
    tokens: int
    ratio: float

    @classmethod
    def of(cls, at: Standing, view: View, sent: Sequence[Message]) -> Self:
        """Return what is kept of a view of a buffer."""
        loose = trailing(at.shown)
        count = len(at.shown.entries) - loose
        tokens = view.tokens - sum(at.tokens[count:])
        return cls(at.shown, count, view, tuple(sent[: len(sent) - loose]), tokens, at.ratio)

    def extended(self, ground: Ground, ratio: float) -> View | None:
        """Return the view with what was said since; None when the buffer changed otherwise, it no longer
        fits, or what was said belongs to an exchange that is not in it whole.
        """
        if not self._is_beginning(ground.buffer) or self._is_torn(ground):
            return None
        size = math.ceil(self.tokens * ratio / self.ratio) + sum(ground.tokens[self.count :])
        if size > ground.room:
            return None
        messages = (*self.sent, *ground.buffer.passed[self.count :])
        return replace(self.view, messages=messages, tokens=size)

    def _is_beginning(self, buffer: Buffer) -> bool:
        count, old, new = self.count, self.buffer.entries, buffer.entries
        same = 0 < count <= len(new) and new[count - 1] is old[count - 1]
        return same and buffer.passed[:count] == self.buffer.passed[:count]

    def _is_torn(self, ground: Ground) -> bool:
        gone = {i for span in self.view.omitted for i in range(span.start, span.stop)}
        crossing = (run for run in ground.runs if run.start < self.count < run.stop)
        return any(not gone.isdisjoint(range(run.start, self.count)) for run in crossing)


def trailing(buffer: Buffer) -> int:
    """Return how many ephemeral messages a buffer ends with."""
    count = 0
    for entry in reversed(buffer.entries):
        if entry.kind is not Kind.EPHEMERAL:
            break
        count += 1
    return count
