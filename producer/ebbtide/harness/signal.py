"""How full the context is at one turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ebbtide.harness.config import CompactionShimConfig
from ebbtide.harness.estimate import TokenEstimator
from ebbtide.harness.render import HistoryItem, Instructions, render_request_messages
from ebbtide.harness.usage import latest_total

ContextSource = Literal["server_usage", "estimate", "mixed"]
"""Where `estimated_tokens` is from: the provider, the estimator, or the estimator against the provider."""


class RunState(Protocol):
    """What is read of a run."""

    instructions: Instructions
    history: list[HistoryItem]
    responses: list[Any]
    turn_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextSignal:
    """One evaluation of the trigger; sizes in tokens.

    `estimated_tokens` is the next request, `reported_tokens` what the provider counted last (None: nothing
    told), `instructions_tokens` the instructions alone.
    """

    estimated_tokens: int
    reported_tokens: int | None
    instructions_tokens: int
    context_window: int
    trigger_tokens: int
    source: ContextSource
    turn_count: int
    history_item_count: int

    @property
    def remaining_tokens(self) -> int:
        """Tokens left in the window; negative when the request is larger."""
        return self.context_window - self.estimated_tokens

    @property
    def used_fraction(self) -> float:
        """Share of the window that the request takes; 1.0 of a window that is none."""
        return self.estimated_tokens / self.context_window if self.context_window > 0 else 1.0

    @property
    def triggered(self) -> bool:
        """Is the request at or above the threshold?"""
        return self.estimated_tokens >= self.trigger_tokens


def evaluate(state: RunState, config: CompactionShimConfig, estimator: TokenEstimator) -> ContextSignal:
    """Return the signal of a run's next request. Raises ValueError for a history that can't be rendered."""
    local = estimator(render_request_messages(state.instructions, state.history))
    reported = latest_total(state.responses)
    trigger = config.resolved_trigger_tokens()
    effective, source = _effective(local, reported, trigger)
    return ContextSignal(
        estimated_tokens=effective,
        reported_tokens=reported,
        instructions_tokens=estimator(render_request_messages(state.instructions, ())),
        context_window=config.context_window,
        trigger_tokens=trigger,
        source=source,
        turn_count=state.turn_count,
        history_item_count=len(state.history),
    )


def _effective(local: int, reported: int | None, trigger: int) -> tuple[int, ContextSource]:
    """What a provider reported may be of another context (a handoff, a resumed run), so it never triggers
    alone."""
    if reported is None:
        return local, "estimate"
    if reported == local or reported > local >= trigger:
        return reported, "server_usage"
    return local, "mixed"
