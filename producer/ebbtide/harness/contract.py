"""What a shim and a compactor say to each other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from ebbtide.harness.estimate import TokenEstimator
from ebbtide.harness.render import HistoryItem, Instructions
from ebbtide.harness.signal import ContextSignal
from ebbtide_core.dialects.base import Message

CompactionTrigger = Literal["auto", "manual"]
"""Whether the threshold or a caller asked for it."""

Model = Callable[..., Awaitable[Any]]
"""Called with messages and the keyword `extra_call_args`; answers as Chat Completions do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionRequest:
    """What a compactor is given: the run as it stands, and what it may use.

    `model` writes the summary, `model_args` are the turn's own arguments to it, `estimator` measures.
    """

    instructions: Instructions
    history: tuple[HistoryItem, ...]
    signal: ContextSignal
    model: Model
    model_args: dict[str, Any] | None
    estimator: TokenEstimator
    reason: CompactionTrigger


@dataclass(kw_only=True, slots=True)
class CompactionResult:
    """What a compactor gives back: the history to install, the request's own when nothing was to do.

    `summary_content` is the summary item's text ("" without one), `dropped_items` are the items that it
    replaces, `summarizer_response` the answer of the model that wrote it. `view` is what to send in the place
    of the history, for this turn only, where that is not to be sent as it is; it is never installed.
    """

    history: list[HistoryItem]
    summary_content: str
    dropped_items: tuple[HistoryItem, ...]
    summarizer_response: Any
    view: Sequence[Message] | None = None


@runtime_checkable
class Compactor(Protocol):
    """Makes a shorter history of a long one."""

    async def compact(self, request: CompactionRequest) -> CompactionResult:
        """Return the replacement. It must keep each ephemeral message and send none to a summariser."""


def unchanged(history: Sequence[HistoryItem]) -> CompactionResult:
    """Return the result that changes nothing."""
    return CompactionResult(
        history=list(history), summary_content="", dropped_items=(), summarizer_response=None
    )


def output_cap(model_args: dict[str, Any] | None) -> int:
    """Return the output tokens that a call's arguments ask for, 0 when they don't say."""
    caps = ((model_args or {}).get(name) for name in ("max_tokens", "max_output_tokens"))
    return next((cap for cap in caps if isinstance(cap, int) and cap > 0), 0)
