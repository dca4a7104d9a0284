"""Ways to keep a session below its window: what each does to the buffer before a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ebbtide_cli.cost.counted import Counted, Held
from ebbtide_cli.cost.notes import Notes
from ebbtide_core.dialects.base import Dialect, PlainMessage
from ebbtide_core.economy.bill import Part, Request


@dataclass
class Effort:
    """What a strategy did: compactions that took effect, turns that waited for one, calls of the
    summariser."""

    compactions: int = 0
    waits: int = 0
    calls: list[Request] = field(default_factory=list)


@dataclass
class Ground:
    """What a strategy works with: the session's dialect, tokens of system and tools, the window, and who
    writes summaries. It keeps account of what is done."""

    dialect: Dialect
    fixed: int
    window: int
    notes: Notes
    effort: Effort = field(default_factory=Effort)

    @classmethod
    def under(cls, session: Counted, window: int, notes: Notes) -> Ground:
        """Return the ground of a session with a window of so many tokens."""
        return cls(session.dialect, session.fixed, window, notes)

    def size(self, buffer: Sequence[Held]) -> int:
        """Return the size of the request that sends the buffer, its answer left out."""
        return self.fixed + sum(held.tokens for held in buffer)

    def called(self, source: int, answer: int) -> None:
        """Note a call of the summariser, in tokens. No two share a prompt's beginning."""
        name = ("source", len(self.effort.calls))
        self.effort.calls.append(Request([Part(name, source)], answer))

    def compacted(self, message: PlainMessage, tokens: int) -> Held:
        """Count a compaction, and return its summary message as one that no earlier prompt held."""
        self.effort.compactions += 1
        return Held(message, Part(("summary", self.effort.compactions), tokens))


class Strategy(Protocol):
    """Keeps one session below its window."""

    ground: Ground

    def turn(self, buffer: list[Held]) -> list[Held]:
        """Return the buffer that is sent, and kept, at a turn."""


@dataclass
class Never:
    """Nothing is ever compacted: the window is as large as it must be."""

    ground: Ground

    def turn(self, buffer: list[Held]) -> list[Held]:
        """Return the buffer."""
        return buffer
