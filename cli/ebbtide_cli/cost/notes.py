"""The summaries that strategies put in place of messages: of a fixed size, or as the extractive summariser
writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ebbtide_cli.cost.counted import Count, Held
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.summary.extractive import summarise
from ebbtide_core.summary.message import render
from ebbtide_core.summary.model import Summary
from ebbtide_core.summary.source import source_message


@dataclass(frozen=True, slots=True)
class Note:
    """A summary, and the model's tokens of the message that carries it."""

    summary: Summary
    tokens: int


class Notes(Protocol):
    """Writes summaries."""

    def write(self, source: Sequence[Held], base: Summary | None, budget: int) -> Note:
        """Return a summary of messages and of the summary before them, of at most so many tokens if it can
        be."""


_BLANK: Final = Summary(session_intent="what was said before")


@dataclass(frozen=True, slots=True)
class FixedNotes:
    """Every summary is of the same size, whatever it stands for."""

    tokens: int

    def write(self, source: Sequence[Held], base: Summary | None, budget: int) -> Note:
        """Return a summary that says nothing."""
        return Note(_BLANK, self.tokens)


@dataclass(frozen=True, slots=True)
class ExtractiveNotes:
    """Summaries as the extractive summariser writes them."""

    dialect: Dialect
    count: Count

    def write(self, source: Sequence[Held], base: Summary | None, budget: int) -> Note:
        """Return the extractive summary."""
        spoken = [source_message(n, held.message, self.dialect) for n, held in enumerate(source)]
        made = summarise(spoken, base=base, budget=budget, count=self._size)
        return Note(made, self._size(render(made)))

    def _size(self, text: str) -> int:
        return self.count(self.dialect.user(text))
