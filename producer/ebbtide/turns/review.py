"""The note that a degraded turn leaves in its session's review list."""

from __future__ import annotations

from ebbtide.turn import Report
from ebbtide.turns.memory import Memory
from ebbtide_core.contract.review import ReviewEntry
from ebbtide_core.store import session_calls
from ebbtide_core.store.script import Call


def review_note(report: Report, memory: Memory) -> Call[int]:
    """Return the call that lists a degraded turn: figures and names, no content."""
    entry = ReviewEntry(
        turn=report.turn,
        action=report.action.value,
        reason=report.reason.value,
        rung=report.rung.value if report.rung else "",
        projected=report.projected,
        sent=report.sent,
        window=report.context_window,
        omitted=sum(run.messages for run in report.omitted),
        model=memory.model,
    )
    policy = memory.policy
    return session_calls.review_add(
        memory.owner, entry.to_json(), kept=policy.review_kept, ttl=policy.state_ttl
    )
