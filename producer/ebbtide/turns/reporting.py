"""How a turn is told: a sentence for people, a log line, metrics."""

from __future__ import annotations

import logging
from typing import Final

from ebbtide.turn import Report, Swapped
from ebbtide_core import metrics
from ebbtide_core.contract.tenant import BlockReason, Refusal
from ebbtide_core.decide import Action
from ebbtide_core.metrics import Recorder
from ebbtide_core.names import Owner
from ebbtide_core.views.view import Rung, View

log = logging.getLogger("ebbtide.turn")

_RUNGS: Final = {
    Rung.EXTRACTIVE: "earlier messages were replaced by automatic notes for this request",
    Rung.TRUNCATED: "earlier messages were left out of this request",
    Rung.CLIPPED: "long tool results were shortened for this request",
    Rung.BARE: "all but the newest message was left out of this request",
}


_NOT_NOW: Final[dict[Refusal | BlockReason, str]] = {
    Refusal.MAX_PENDING: "too many summaries are waited for already",
    Refusal.TOKENS_A_DAY: "today's tokens are used up",
    Refusal.SPEND_A_DAY: "today's budget is used up",
    Refusal.OFF: "they are switched off",
    BlockReason.AUTH: "the provider refuses the credentials",
    BlockReason.SPEND_LIMIT: "the provider's spend limit is reached",
    BlockReason.NOT_FOUND: "the provider does not know the model",
    BlockReason.PROVIDER_DOWN: "the provider does not answer",
}


def notice(
    action: Action, view: View | None, swapped: Swapped | None, why: Refusal | BlockReason | None = None
) -> str:
    """Return a sentence or two for a user interface, "" when there is nothing to tell.

    `why` says what keeps a summary from being made at present.
    """
    said = (_done(action, view, swapped), f"No summary is made at present: {_NOT_NOW[why]}." if why else "")
    return " ".join(filter(None, said))


def _done(action: Action, view: View | None, swapped: Swapped | None) -> str:
    if view is not None:
        return f"The conversation outgrew the context window: {_RUNGS[view.rung]}. Nothing was lost."
    if swapped is not None and not swapped.again and action is Action.SWAP:
        return f"The earlier conversation now stands as summary {swapped.version}."
    if action is Action.PRUNE:
        return "Tool results that newer ones supersede are left out of the requests."
    return ""


def emit(report: Report, owner: Owner, recorder: Recorder, swap: Swapped | None) -> None:
    """Write the turn's log line and its metrics."""
    recorder.count(metrics.TURNS, action=report.action.value, reason=report.reason.value)
    recorder.observe(metrics.TURN_SECONDS, report.elapsed)
    recorder.observe(metrics.PROJECTED, report.projected)
    if report.waited:
        recorder.observe(metrics.WAIT_SECONDS, report.waited)
    if swap is not None and not swap.again:
        recorder.count(metrics.SWAPS)
    if report.rung is not None:
        recorder.count(metrics.DEGRADED, rung=report.rung.value)
    for fault in report.faults:
        recorder.count(metrics.HOST_FAULTS, where=fault.split(":", 1)[0].split(" ", 1)[0])
    level = logging.WARNING if report.degraded or report.faults else logging.INFO
    if log.isEnabledFor(level):
        log.log(level, "turn prepared", extra={"ebbtide": _fields(report, owner)})


def _fields(report: Report, owner: Owner) -> dict[str, object]:
    return {
        "tenant": owner.tenant,
        "session": owner.session_id,
        "turn": report.turn,
        "action": report.action.value,
        "reason": report.reason.value,
        "projected": report.projected,
        "sent": report.sent,
        "version": report.version,
        "degraded": report.degraded,
        "rung": report.rung.value if report.rung else None,
        "claim": report.claim,
        "refused": report.refused.value if report.refused else None,
        "block": report.block.value if report.block else None,
        "waited": round(report.waited, 3),
        "elapsed": round(report.elapsed, 4),
        "faults": list(report.faults),
    }
