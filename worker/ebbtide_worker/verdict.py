"""How an attempt ends: one place that says what counts for the session's breaker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ebbtide_core.breaker import Outcome
from ebbtide_core.errors import CodecError, EbbtideError, StoreUnavailable, SummaryRejected
from ebbtide_core.store.results import GuardStatus, PublishStatus
from ebbtide_worker.summarisers.base import UNREAD, FaultKind, SummariserFault
from ebbtide_worker.summarisers.registry import UnknownSummariser


@dataclass(frozen=True, slots=True)
class Verdict:
    """An attempt's outcome and its reason, one word for metrics and logs."""

    outcome: Outcome
    reason: str


def _neutral(reason: str) -> Verdict:
    return Verdict(Outcome.NEUTRAL, reason)


def _failure(reason: str) -> Verdict:
    return Verdict(Outcome.FAILURE, reason)


PUBLISHED: Final = Verdict(Outcome.SUCCESS, "published")
DUPLICATE: Final = Verdict(Outcome.SUCCESS, "duplicate")
LEASE_LOST: Final = _neutral("lease_lost")
FENCED: Final = _neutral(GuardStatus.FENCED.value)
STORE_UNAVAILABLE: Final = _neutral("store_unavailable")
STOPPED: Final = _neutral("worker_stopped")
HANDED_BACK: Final = _neutral("handed_back")
OVER_BUDGET: Final = _neutral(FaultKind.BUDGET.value)
POLICY_UNREADABLE: Final = _neutral("policy_unreadable")
TOO_OLD: Final = _neutral("too_old")
DEADLINE: Final = _failure("deadline")
LOST_TOO_OFTEN: Final = _failure("lease_lost_too_often")


class Stop(EbbtideError):
    """The attempt is to end now, with this verdict: nothing more is to be paid."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(verdict.reason)


class SnapshotGone(EbbtideError):
    """An upload that the job names is not in the store any more: the host's next claim uploads it again."""


class SnapshotDamaged(EbbtideError):
    """An upload is not what the job names: the host's next claim uploads it again."""


class NoProgress(SummaryRejected):
    """The summary is valid, but a swap would not make the request at least a tenth smaller."""


def of_error(error: BaseException) -> Verdict:
    """Return how an attempt ends that met this error.

    What the provider, the account, the store or the fleet has to answer for is neutral; what would happen to
    this session again is a failure.
    """
    match error:
        case Stop():
            return error.verdict
        case SummariserFault(kind=kind):
            return _neutral(kind.value) if kind in UNREAD else _failure(kind.value)
        case SnapshotGone():
            return _neutral("snapshot_gone")
        case SnapshotDamaged():
            return _neutral("snapshot_damaged")
        case CodecError():
            return _neutral("codec")
        case StoreUnavailable():
            return STORE_UNAVAILABLE
        case NoProgress():
            return _failure("no_progress")
        case SummaryRejected():
            return _failure("rejected")
        case UnknownSummariser():
            return _failure("unknown_summariser")
        case _:
            return _failure("internal")


def of_guard(status: GuardStatus) -> Verdict | None:
    """Return how an attempt ends that the session's guard does not let go on; None: it may."""
    return None if status is GuardStatus.GO else _neutral(status.value)


def of_publication(status: PublishStatus) -> Verdict:
    """Return how an attempt ends with the answer to its publication.

    A duplicate is this very record, published before: by this attempt if the answer was lost, or by another.
    """
    if status is PublishStatus.DUPLICATE:
        return DUPLICATE
    return PUBLISHED if status is PublishStatus.PUBLISHED else _neutral(status.value)
