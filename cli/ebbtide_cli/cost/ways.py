"""The ways to compact that are compared, and what each session costs under them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

from ebbtide_cli.cost.ahead import Ahead, Due, at_once
from ebbtide_cli.cost.blocking import NewestTen, Reactive
from ebbtide_cli.cost.counted import Count, Counted
from ebbtide_cli.cost.notes import ExtractiveNotes, FixedNotes, Notes
from ebbtide_cli.cost.play import Outcome, Prices, played
from ebbtide_cli.cost.strategy import Ground, Never, Strategy
from ebbtide_core.economy.timing import Chance, swap_now
from ebbtide_core.policy import Policy


class Way(StrEnum):
    """The ways that are compared."""

    NEVER = "never"
    REACTIVE = "reactive"
    NEWEST_TEN = "newest_ten"
    IMMEDIATE = "immediate"
    COST_AWARE = "cost_aware"


COMPACTING: Final = tuple(way for way in Way if way is not Way.NEVER)

Outcomes = Mapping[tuple[int, Way], Outcome]
"""A session's outcome for each window and way."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compared: windows in tokens, prices, the policy of the ways that are Ebbtide's.

    `summary_tokens`: the size of every summary, None to have the extractive summariser write them.
    `job_turns`: turns from asking for a record until it is there.
    """

    windows: tuple[int, ...]
    prices: Prices
    policy: Policy
    summary_tokens: int | None = 300
    job_turns: int = 1

    def notes(self, session: Counted, count: Count) -> Notes:
        """Return who writes a session's summaries."""
        if self.summary_tokens is None:
            return ExtractiveNotes(session.dialect, count)
        return FixedNotes(self.summary_tokens)

    def outcomes(self, session: Counted, count: Count) -> Outcomes:
        """Return what the session costs, for each window and way."""
        notes = self.notes(session, count)
        return {
            (window, way): played(session, make(Ground.under(session, window, notes)), window, self.prices)
            for window in self.windows
            for way, make in self._makers().items()
        }

    def _makers(self) -> dict[Way, Callable[[Ground], Strategy]]:
        return {
            Way.NEVER: Never,
            Way.REACTIVE: Reactive,
            Way.NEWEST_TEN: NewestTen,
            Way.IMMEDIATE: partial(self._ahead, at_once),
            Way.COST_AWARE: partial(self._ahead, self._pays),
        }

    def _ahead(self, due: Due, ground: Ground) -> Strategy:
        return Ahead(ground, self.policy, due, self.job_turns)

    def _pays(self, chance: Chance) -> bool:
        return swap_now(chance, self.prices.host, self.policy.swap_ratio)
