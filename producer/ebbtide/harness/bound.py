"""A shim bound to one agent."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ebbtide.harness.config import CompactionShimConfig
from ebbtide.harness.contract import CompactionRequest, CompactionResult, Compactor, Model
from ebbtide.harness.estimate import TokenEstimator
from ebbtide.harness.once import leave, take
from ebbtide.harness.outgoing import OneTurnView, failure_notice, has_marks, without_marks
from ebbtide.harness.render import render_request_messages
from ebbtide.harness.report import CompactionReport, OnCompact, failure_report, success_report, tell
from ebbtide.harness.signal import ContextSignal, evaluate
from ebbtide_core.breaker import Breaker, BreakerState, Outcome, allows_claim, on_outcome, on_turn
from ebbtide_core.dialects.base import PlainMessage

log = logging.getLogger("ebbtide.harness")


@dataclass(kw_only=True)
class BoundCompactionShim:
    """The callbacks that a runner makes for one agent; those that compaction does not need do nothing."""

    config: CompactionShimConfig
    compactor: Compactor
    estimator: TokenEstimator
    model: Model
    on_compact: OnCompact | None
    clock: Callable[[], float]
    breaker: Breaker = field(default_factory=Breaker, init=False)

    async def prepare_turn(self, turn: Any) -> None:
        """Compact the run's history when its next request reaches the threshold.

        A failure leaves the history as it is. Raises ValueError for a history that can't be rendered.
        """
        self.breaker = on_turn(self.breaker, self.config.pause_turns)
        signal = evaluate(turn.run_state, self.config, self.estimator)
        if not signal.triggered or not allows_claim(self.breaker):
            return
        result, report = await self._attempt(self._request(turn, signal))
        self._count(report)
        if result is not None and report.compacted:
            turn.replace_history(result.history)
        if result is not None:
            self._leave_view(turn, result)
        await tell(self.on_compact, report)
        if report.error is not None and self.config.on_failure == "inject":
            self._leave_notice(turn, report.error)

    async def transform_messages(self, turn: Any, messages: list[PlainMessage]) -> list[PlainMessage] | None:
        """Return the request as it should go out, None when it may stay as it is.

        Ebbtide's marks are taken off, a one-turn view takes the history's place, and the note of a failure
        comes last.
        """
        views, notices = take(turn, self._view_key), take(turn, self._notice_key)
        if not views and not notices and not has_marks(messages):
            return None
        request = without_marks(messages)
        if views:
            instructions = render_request_messages(turn.run_state.instructions, ())
            request = views[-1].shown(request, len(instructions))
        return [*request, *notices]

    async def on_run_start(self, state: Any, transient_state: Any) -> None:
        """Nothing to do."""

    async def on_model_response(self, turn: Any, response: Any) -> None:
        """Nothing to do."""

    async def on_run_end(self, result: Any, transient_state: Any) -> None:
        """Nothing to do."""

    def inherit_tools(self, names: frozenset[str]) -> None:
        """Bring no tools of its own, so that children inherit the shim as any other."""

    def runner_hooks(self) -> tuple[Any, ...]:
        """Return no hooks."""
        return ()

    @property
    def _notice_key(self) -> str:
        return f"{self.config.name}:ebbtide.compaction.failure-notices"

    @property
    def _view_key(self) -> str:
        return f"{self.config.name}:ebbtide.compaction.views"

    def _leave_notice(self, turn: Any, error: str) -> None:
        """Where the transient state can't hold the note, the history is the only way to the model."""
        notice = failure_notice(error)
        if not leave(turn, self._notice_key, notice):
            turn.append_history_item(notice)

    def _leave_view(self, turn: Any, result: CompactionResult) -> None:
        view = getattr(result, "view", None)
        if view is not None:
            history = render_request_messages(None, turn.run_state.history)
            leave(turn, self._view_key, OneTurnView(history, view))

    def _request(self, turn: Any, signal: ContextSignal) -> CompactionRequest:
        return CompactionRequest(
            instructions=turn.run_state.instructions,
            history=tuple(turn.run_state.history),
            signal=signal,
            model=self.model,
            model_args=None if turn.model_args is None else dict(turn.model_args),
            estimator=self.estimator,
            reason="auto",
        )

    async def _attempt(self, request: CompactionRequest) -> tuple[CompactionResult | None, CompactionReport]:
        began = self.clock()
        try:
            result = await self.compactor.compact(request)
            return result, success_report(self.config.name, request, result, self.clock() - began)
        except Exception as error:  # noqa: BLE001  a compactor may raise anything, and the run goes on
            return None, failure_report(self.config.name, request, error, self.clock() - began)

    def _count(self, report: CompactionReport) -> None:
        """Count failures in a row, so that a compactor that keeps failing is not paid each turn."""
        most = self.config.failures_to_pause
        if most is None:
            return
        outcome = Outcome.SUCCESS if report.error is None else Outcome.FAILURE
        self.breaker = on_outcome(self.breaker, outcome, 0, most)
        if self.breaker.state is BreakerState.OPEN:
            log.warning(
                "compaction is tried again in %d turns, after %d failures in a row",
                self.config.pause_turns,
                self.breaker.failures,
            )
