"""What people are told when a dead letter can't be tried again: why, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ebbtide_core.contract.job import Job
from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.store.results import ClaimResult, ClaimStatus, EnqueueResult

_DROP: Final = "Drop it: the session's host asks anew by itself."

NO_CLAIM: Final[Mapping[ClaimStatus, str]] = {
    ClaimStatus.STALE: (
        f"its session has no state any more, or has begun another history since (a fork or a reset). {_DROP}"
    ),
    ClaimStatus.BEHIND: f"a newer summary already covers all of it. {_DROP}",
    ClaimStatus.BUSY: (
        "its session has another compaction going. Wait for its end, or drop this one: the other may cover "
        "it."
    ),
    ClaimStatus.READY: f"a newer summary is ready and waits for the session's next turn. {_DROP}",
    ClaimStatus.TOO_LITTLE: f"too little is new since the newest summary. {_DROP}",
    ClaimStatus.BREAKER_OPEN: (
        "the session's breaker is open, since its summaries failed in a row. See `ebbtide breaker show`, "
        "mend the cause, then `ebbtide breaker reset`, and retry."
    ),
    ClaimStatus.PROVIDER_DOWN: (
        "no summary can be made for its tenant at present. `ebbtide tenant show` tells why; retry later."
    ),
    ClaimStatus.SPLIT_BRAIN: (
        "two hosts write the session with different histories, so that it gives no claims for some turns. "
        "Find the second host, then retry."
    ),
}

REFUSED: Final[Mapping[Refusal, str]] = {
    Refusal.MAX_PENDING: "as many of its jobs wait as may (`max_pending`). Retry when fewer do",
    Refusal.TOKENS_A_DAY: "its tokens of today are used up (`tokens_a_day`). Retry after midnight UTC",
    Refusal.SPEND_A_DAY: "its money of today is used up (`spend_a_day`). Retry after midnight UTC",
    Refusal.OFF: "its mode is off",
}


def no_claim(claim: ClaimResult) -> str:
    """Return why the session gave no claim."""
    return NO_CLAIM[claim.status]


def not_admitted(answer: EnqueueResult, job: Job) -> str:
    """Return why a claimed job did not get into the index."""
    if answer.reason is None:
        return "a newer job of its session is in the index, or this one runs already. Drop it."
    changed = "give it another policy with `ebbtide tenant apply`, then retry"
    return f"tenant {job.tenant!r} has no room for it: {REFUSED[answer.reason]}; or {changed}."
