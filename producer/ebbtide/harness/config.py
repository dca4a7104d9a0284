"""Settings of the shim and of the default compactor, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ebbtide.harness.constants import (
    DEFAULT_FAILURES_TO_PAUSE,
    DEFAULT_KEEP_RECENT_MESSAGES,
    DEFAULT_KEEP_RECENT_TOKENS,
    DEFAULT_PAUSE_TURNS,
    DEFAULT_SUMMARY_MAX_TOKENS,
    DEFAULT_TRIGGER_RATIO,
)
from ebbtide.harness.prompt import DEFAULT_COMPACTION_PROMPT, DEFAULT_SUMMARY_BRIDGE

OnFailure = Literal["inject", "skip"]
"""After a failure: tell the model in the next request, or say nothing."""

SummaryPlacement = Literal["before_tail", "after_tail"]
"""Where the summary item stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionShimConfig:
    """When a shim compacts and what it does about failures. Raises ValueError for a value out of range.

    `context_window` is the protected model's window in tokens. The trigger is `trigger_tokens`, or else
    `trigger_ratio` of the window. `name` begins report and attempt keys. After `failures_to_pause` failures
    in a row the compactor is called again only `pause_turns` turns later; None: each turn.
    """

    context_window: int
    trigger_ratio: float = DEFAULT_TRIGGER_RATIO
    trigger_tokens: int | None = None
    on_failure: OnFailure = "inject"
    name: str = "compaction"
    failures_to_pause: int | None = DEFAULT_FAILURES_TO_PAUSE
    pause_turns: int = DEFAULT_PAUSE_TURNS

    def __post_init__(self) -> None:
        _positive("context_window", self.context_window)
        _check(0 < self.trigger_ratio <= 1, "trigger_ratio must be above 0 and at most 1")
        if self.trigger_tokens is not None:
            _positive("trigger_tokens", self.trigger_tokens)
            _check(self.trigger_tokens <= self.context_window, "trigger_tokens must fit the context_window")
        _check(self.on_failure in ("inject", "skip"), "on_failure must be 'inject' or 'skip'")
        _check(bool(self.name), "name must not be empty")
        _positive("failures_to_pause", self.failures_to_pause)
        _positive("pause_turns", self.pause_turns)

    def resolved_trigger_tokens(self) -> int:
        """Return the threshold in tokens."""
        if self.trigger_tokens is not None:
            return self.trigger_tokens
        return max(1, int(self.context_window * self.trigger_ratio))


@dataclass(frozen=True, kw_only=True, slots=True)
class DefaultCompactorConfig:
    """How summary and tail are made. Raises ValueError for a value out of range.

    `prompt` is the summarising model's system message, `summary_bridge` what the next model reads before the
    summary. The tail keeps `keep_recent_tokens` (estimated), and at least `keep_recent_messages` history
    items. `summary_max_tokens` caps the summary's output, None leaves it to the model.
    """

    prompt: str = DEFAULT_COMPACTION_PROMPT
    summary_bridge: str = DEFAULT_SUMMARY_BRIDGE
    keep_recent_tokens: int = DEFAULT_KEEP_RECENT_TOKENS
    keep_recent_messages: int = DEFAULT_KEEP_RECENT_MESSAGES
    summary_placement: SummaryPlacement = "before_tail"
    summary_max_tokens: int | None = DEFAULT_SUMMARY_MAX_TOKENS

    def __post_init__(self) -> None:
        _check(bool(self.prompt), "prompt must not be empty")
        _check(bool(self.summary_bridge), "summary_bridge must not be empty")
        _positive("keep_recent_tokens", self.keep_recent_tokens)
        _positive("keep_recent_messages", self.keep_recent_messages)
        placed = self.summary_placement in ("before_tail", "after_tail")
        _check(placed, "summary_placement must be 'before_tail' or 'after_tail'")
        _positive("summary_max_tokens", self.summary_max_tokens)


def _positive(name: str, value: int | None) -> None:
    _check(value is None or value > 0, f"{name} must be above 0")


def _check(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
