"""What the scripts of the state store answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ebbtide_core.breaker import BreakerState
from ebbtide_core.contract.job import After, Job, Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.contract.review import ReviewEntry
from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.lineage.chain import Position


class ClaimStage(StrEnum):
    """Where a claimed job is: not yet in the index, waiting in it, or with a worker."""

    CLAIMED = "claimed"
    QUEUED = "queued"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class ClaimView:
    """The claim that a session has going."""

    job_id: str
    generation: int
    epoch: int
    position: Position
    stage: ClaimStage
    urgency: Urgency


@dataclass(frozen=True, slots=True)
class SessionView:
    """What `turn` tells a host. `headers` are all kept records, oldest first; `mode`, `ratio` if set."""

    incarnation: str
    generation: int
    newest: After
    turns: int
    breaker: BreakerState
    split_brain: bool
    mode: str | None
    ratio: float | None
    claim: ClaimView | None
    headers: tuple[RecordHeader, ...]


class ClaimStatus(StrEnum):
    """OWN: the host has the claim. Everything else: no claim was given, and why."""

    OWN = "own"
    BUSY = "busy"
    READY = "ready"
    BREAKER_OPEN = "breaker_open"
    PROVIDER_DOWN = "provider_down"
    STALE = "stale"
    BEHIND = "behind"
    TOO_LITTLE = "too_little"
    SPLIT_BRAIN = "split_brain"


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """With OWN: `epoch` and `after`. With BUSY: `stage` of the claim that is there. With READY: `version`."""

    status: ClaimStatus
    epoch: int = 0
    after: After | None = None
    stage: ClaimStage | None = None
    version: int = 0


class GuardStatus(StrEnum):
    """GO: work on. FENCED: another incarnation or generation, or no state. SUPERSEDED: a newer record is out.
    REPLACED: the claim is another's, or of a later attempt."""

    GO = "go"
    FENCED = "fenced"
    SUPERSEDED = "superseded"
    REPLACED = "replaced"


class PublishStatus(StrEnum):
    """PUBLISHED: the record has its version. DUPLICATE: the newest record is this very body. Else refused."""

    PUBLISHED = "published"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"
    FENCED = "fenced"


@dataclass(frozen=True, slots=True)
class PublishResult:
    """`version` is the record's with PUBLISHED and DUPLICATE, else 0."""

    status: PublishStatus
    version: int = 0


class EnqueueStatus(StrEnum):
    """QUEUED, REPLACED an older job of the session, STALE: a newer one is there, REFUSED by admission."""

    QUEUED = "queued"
    REPLACED = "replaced"
    STALE = "stale"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class EnqueueResult:
    """`reason` says why with REFUSED."""

    status: EnqueueStatus
    reason: Refusal | None = None


class RenewStatus(StrEnum):
    """RENEWED. LOST: the attempt runs no more and must stop. OVER_BUDGET: renewed, but its tenant has used up
    its day.
    """

    RENEWED = "renewed"
    LOST = "lost"
    OVER_BUDGET = "over_budget"


class TakeStatus(StrEnum):
    """JOB: one was taken. EMPTY: nothing is ready. CAPPED: every tenant with ready jobs is at its cap."""

    JOB = "job"
    EMPTY = "empty"
    CAPPED = "capped"


@dataclass(frozen=True, slots=True)
class CancelResult:
    """The claim that was ended. `stage` is None, and all else empty, when there was none."""

    job_id: str = ""
    incarnation: str = ""
    generation: int = 0
    epoch: int = 0
    stage: ClaimStage | None = None

    @property
    def ended(self) -> bool:
        """Was there a claim?"""
        return self.stage is not None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A degraded turn listed for review, and when: seconds since the epoch, by the server's clock."""

    at: float
    entry: ReviewEntry


@dataclass(frozen=True, slots=True)
class StateView:
    """What a look at a session tells. `idle`: seconds since its state was written.

    Of its breaker: `failures` in a row, `turns_open` counted since it opened, and the `seconds_open` since
    then (None unless open, or opened by an older fleet).
    """

    view: SessionView
    idle: float
    failures: int
    turns_open: int = 0
    seconds_open: float | None = None


@dataclass(frozen=True, slots=True)
class TakeResult:
    """`dropped`: jobs that waited past `max_queue_age`, to settle neutral. `waited`: seconds."""

    status: TakeStatus
    job: Job | None = None
    waited: float = 0.0
    dropped: tuple[Job, ...] = ()


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What maintenance found.

    `put_back`: jobs of expired leases, ready again with the next attempt number. `lost`: jobs whose last
    allowed attempt lost its lease, each a dead letter now (to settle as failure). `too_old`: jobs past
    `max_queue_age` (to settle neutral). `waiting`: jobs ready for longer than a tick. `running`: jobs with a
    live lease.
    """

    put_back: tuple[Job, ...] = ()
    lost: tuple[Job, ...] = ()
    too_old: tuple[Job, ...] = ()
    waiting: int = 0
    running: int = 0


class DeathReason(StrEnum):
    """Why a job was given up. LEASE_LOST_TOO_OFTEN: its workers died, or froze, one after the other."""

    LEASE_LOST_TOO_OFTEN = "lease_lost_too_often"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A job that was given up, why, and when: seconds since the epoch, by the server's clock."""

    job: Job
    reason: DeathReason
    at: float

    @property
    def attempts(self) -> int:
        """How often a worker was given the job."""
        return self.job.attempt + 1


class JobState(StrEnum):
    """Where a job of the index is: waiting for a worker, or with one."""

    READY = "ready"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job of the index. `age`: seconds that it has been ready, or running. `worker` is "" while ready."""

    job: Job
    state: JobState
    age: float
    worker: str = ""


@dataclass(frozen=True, slots=True)
class JobList:
    """Jobs of the index, ready ones first, and how many of each kind there are in all."""

    jobs: tuple[ListedJob, ...]
    ready: int
    running: int
