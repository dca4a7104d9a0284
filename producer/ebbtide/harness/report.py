"""What observers are told of a compaction attempt."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ebbtide.harness.contract import CompactionRequest, CompactionResult, CompactionTrigger
from ebbtide.harness.render import HistoryItem, render_request_messages
from ebbtide.harness.signal import ContextSignal
from ebbtide.harness.usage import usage_of
from ebbtide_core.jsonio import equal

log = logging.getLogger("ebbtide.harness")


@dataclass(frozen=True, kw_only=True, slots=True)
class CompactionReport:
    """One attempt; sizes in tokens.

    `compacted` says that the history was replaced. Items are counted before and after, and
    `estimated_tokens_after` is the request that follows. `summary_chars` is the length of the summary item's
    text, `summarizer_usage` what its call cost (prompt, completion, total), also when it was in vain.
    `duration_seconds` is the time the compactor took. `attempt_key` is the same for the same attempt of one
    run, for observers that must not count twice; it does not name the run. `error` says why it failed.
    """

    signal: ContextSignal
    reason: CompactionTrigger
    compacted: bool
    items_before: int
    items_after: int
    estimated_tokens_after: int
    summary_chars: int
    dropped_items: tuple[HistoryItem, ...]
    summarizer_usage: tuple[int, int, int] | None
    duration_seconds: float
    attempt_key: str
    error: str | None = None


OnCompact = Callable[[CompactionReport], Awaitable[None] | None]
"""Told of each attempt; may be async. Its own errors change nothing."""


def success_report(
    name: str, request: CompactionRequest, result: CompactionResult, seconds: float
) -> CompactionReport:
    """Return the report of a compactor's result. Raises ValueError for a history that can't be rendered."""
    compacted = not equal(list(result.history), list(request.history))
    after = request.signal.estimated_tokens
    if compacted:
        after = request.estimator(render_request_messages(request.instructions, result.history))
    return CompactionReport(
        signal=request.signal,
        reason=request.reason,
        compacted=compacted,
        items_before=len(request.history),
        items_after=len(result.history),
        estimated_tokens_after=after,
        summary_chars=len(result.summary_content),
        dropped_items=result.dropped_items,
        summarizer_usage=usage_of(result.summarizer_response),
        duration_seconds=seconds,
        attempt_key=attempt_key(name, request),
    )


def failure_report(
    name: str, request: CompactionRequest, error: Exception, seconds: float
) -> CompactionReport:
    """Return the report of a compactor's error."""
    return CompactionReport(
        signal=request.signal,
        reason=request.reason,
        compacted=False,
        items_before=len(request.history),
        items_after=len(request.history),
        estimated_tokens_after=request.signal.estimated_tokens,
        summary_chars=0,
        dropped_items=(),
        summarizer_usage=usage_of(getattr(error, "summarizer_response", None)),
        duration_seconds=seconds,
        attempt_key=attempt_key(name, request),
        error=str(error),
    )


def attempt_key(name: str, request: CompactionRequest) -> str:
    """Return the key of an attempt: shim, reason, turn, history items and size."""
    at = request.signal
    return (
        f"{name}:{request.reason}:turn={at.turn_count}"
        f":history={at.history_item_count}:tokens={at.estimated_tokens}"
    )


async def tell(observer: OnCompact | None, report: CompactionReport) -> None:
    """Tell log and observer of an attempt."""
    level = logging.INFO if report.error is None else logging.WARNING
    log.log(level, "compaction attempted", extra={"ebbtide": _fields(report)})
    if observer is None:
        return
    try:
        told = observer(report)
        if inspect.isawaitable(told):
            await told
    except Exception:
        log.exception("the on_compact observer failed; the compaction stands")


def _fields(report: CompactionReport) -> dict[str, Any]:
    return {
        "attempt": report.attempt_key,
        "compacted": report.compacted,
        "tokens_before": report.signal.estimated_tokens,
        "tokens_after": report.estimated_tokens_after,
        "items_before": report.items_before,
        "items_after": report.items_after,
        "elapsed": round(report.duration_seconds, 4),
        "error": report.error,
    }
