"""Strategies that compact at a turn and wait for the summary: they are what others do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ebbtide_cli.cost.counted import Held
from ebbtide_cli.cost.strategy import Ground
from ebbtide_core.lineage.buffer import read
from ebbtide_core.lineage.exchanges import exchanges
from ebbtide_core.summary.message import render
from ebbtide_core.summary.model import Summary

TAIL_MESSAGES: Final = 10
"""Messages that both keep, at most."""

FIRST_SOFT: Final = 0.70
FIRST_HEADROOM: Final = 4_096
FIRST_SUMMARY: Final = 1_024
"""Of the newest ten: the watermark, the tokens reserved for the answer, the summary's cap."""

REACTIVE_MARK: Final = 0.95
REACTIVE_TAIL: Final = 0.5
REACTIVE_SUMMARY: Final = 0.1
"""The reactive one: its watermark, and how much of the window tail and summary may take."""


@dataclass
class NewestTen:
    """A tail counted in messages: at 70 % it keeps system messages and the newest ten, wherever that cuts."""

    ground: Ground
    _before: tuple[Held, Summary] | None = None

    def turn(self, buffer: list[Held]) -> list[Held]:
        """Compact from the watermark on."""
        if self.ground.size(buffer) + FIRST_HEADROOM < FIRST_SOFT * self.ground.window:
            return buffer
        gone, tail = buffer[:-TAIL_MESSAGES], buffer[-TAIL_MESSAGES:]
        held, self._before = _replaced(self.ground, gone, self._before, FIRST_SUMMARY)
        return [*_system(buffer, self.ground), held, *tail]


@dataclass
class Reactive:
    """At 95 % it keeps the system messages and whole exchanges: at most ten messages and half the window."""

    ground: Ground
    _before: tuple[Held, Summary] | None = None

    def turn(self, buffer: list[Held]) -> list[Held]:
        """Compact from the watermark on, when there is something new before the tail."""
        ground = self.ground
        if ground.size(buffer) < REACTIVE_MARK * ground.window:
            return buffer
        system = _system(buffer, ground)
        spoken = [held for held in buffer if not ground.dialect.is_system(held.message)]
        cut = _tail_start(spoken, ground)
        gone = spoken[:cut]
        if all(self._before and held is self._before[0] for held in gone):
            return buffer
        budget = int(REACTIVE_SUMMARY * ground.window)
        held, self._before = _replaced(ground, gone, self._before, budget)
        return [*system, held, *spoken[cut:]]


def _system(buffer: Sequence[Held], ground: Ground) -> list[Held]:
    return [held for held in buffer if ground.dialect.is_system(held.message)]


def _tail_start(spoken: Sequence[Held], ground: Ground) -> int:
    """Return where the newest whole exchanges begin that are within the limits; the last one always is."""
    runs = exchanges(read([held.message for held in spoken], ground.dialect).entries)
    start, kept = len(spoken), 0
    for run in reversed(runs):
        kept += sum(held.tokens for held in spoken[run.start : run.stop])
        within = len(spoken) - run.start <= TAIL_MESSAGES and kept <= REACTIVE_TAIL * ground.window
        if start < len(spoken) and not within:
            break
        start = run.start
    return start


def _replaced(
    ground: Ground, gone: Sequence[Held], before: tuple[Held, Summary] | None, budget: int
) -> tuple[Held, tuple[Held, Summary]]:
    """Wait for the summary of messages; an earlier one among them is paid for again with them."""
    source = [held for held in gone if before is None or held is not before[0]]
    again = before[1] if before is not None and len(source) < len(gone) else None
    note = ground.notes.write(source, again, budget)
    ground.called(sum(held.tokens for held in gone), note.tokens)
    ground.effort.waits += 1
    held = ground.compacted(ground.dialect.user(render(note.summary)), note.tokens)
    return held, (held, note.summary)
