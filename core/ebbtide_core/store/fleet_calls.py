"""The scripts of the ready index and the running leases. Leases, ages and lifetimes are in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ebbtide_core import names
from ebbtide_core.contract.job import Job, Urgency
from ebbtide_core.store.results import EnqueueResult, EnqueueStatus, SweepResult, TakeResult, TakeStatus
from ebbtide_core.store.script import Call, ms, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ebbtide_core.names import Owner

MAX_ATTEMPTS: Final = 3
_KEYS: Final = tuple(
    map(
        names.fleet,
        ("ready", "active", "since", "jobs", "running", "attempts", "load", "tenants", "sessions", "meta"),
    )
)


@dataclass(frozen=True, slots=True)
class Depth:
    """Ready jobs, running attempts, seconds the oldest job has been ready, tenants that have ready jobs."""

    ready: int
    running: int
    oldest_ready: float
    tenants: int


def enqueue(job: Job, *, ttl: float, max_pending: int | None = None) -> Call[EnqueueResult]:
    """Put a claimed job into the ready index. Refused when its tenant has `max_pending` ready jobs."""
    limit = "" if max_pending is None else max_pending
    argv = (job.owner.member, job.urgency.value, *_numbers(job), job.to_json(), ms(ttl), limit)
    return Call("enqueue", _KEYS, argv, _enqueue_result)


def raise_urgency(owner: Owner) -> Call[bool]:
    """Make the session's ready `lo` job `hi` in its place; says whether there was one."""
    return Call("raise_urgency", _KEYS, (owner.member,), bool)


def unqueue(owner: Owner, *, incarnation: str, generation: int, epoch: int) -> Call[bool]:
    """Take the session's ready job out of the index, unless it is of a later claim than this one or of
    another life of the session. A running attempt stays: its worker hears of the end at its next guard.
    """
    argv = (owner.member, names.encoded(incarnation), generation, epoch)
    return Call("unqueue", _KEYS, argv, bool)


def forget_member(owner: Owner) -> Call[tuple[int, int]]:
    """Take a session out of the index, and return how many ready jobs and running attempts it had there."""
    return Call("forget_member", _KEYS, (owner.member,), _pair)


def mentions(owner: Owner) -> Call[int]:
    """Count the entries of the index that name a session."""
    return Call("mentions", _KEYS, (owner.member,), int)


def take(
    worker_id: str, *, lease: float, max_queue_age: float, cap: int | None = None, ttl: float
) -> Call[TakeResult]:
    """Give a worker the next job for `lease`, and take those out that waited past `max_queue_age`.

    `cap` is how many attempts of one tenant may run, None for any number.
    """
    limit = "" if cap is None else cap
    argv = (names.encoded(worker_id), ms(lease), ms(max_queue_age), limit, ms(ttl))
    return Call("take", _KEYS, argv, _take_result)


def renew(job: Job, lease: float) -> Call[bool]:
    """Renew a running attempt; False when it lost its lease and must stop."""
    return Call("renew", _KEYS, (_attempt(job), ms(lease)), bool)


def done(job: Job) -> Call[bool]:
    """Take an attempt off the running ones; False when it had lost its lease."""
    return Call("done", _KEYS, (_attempt(job),), bool)


def sweep(
    *, tick: float, max_attempts: int = MAX_ATTEMPTS, max_queue_age: float, ttl: float
) -> Call[SweepResult]:
    """Put jobs of expired leases back, unless a newer one of the session is ready, and drop those too old.

    The job's attempt number is the next one in `put_back`, the one that lost its lease in `lost`.
    """
    argv = (ms(tick), max_attempts, ms(max_queue_age), ms(ttl))
    return Call("sweep", _KEYS, argv, _sweep_result)


def tick_lock(worker_id: str, ttl: float) -> Call[bool]:
    """Take the maintenance lock for `ttl`; False when a worker has it."""
    return Call("tick_lock", (names.fleet("tick"),), (worker_id, ms(ttl)), bool)


def depth() -> Call[Depth]:
    """Count what the index holds."""
    return Call("depth", _KEYS, (), _depth)


def _numbers(job: Job) -> tuple[str, int, int, int]:
    return names.encoded(job.incarnation), job.generation, job.epoch, job.attempt


def _attempt(job: Job) -> str:
    return " ".join(map(str, (job.owner.member, *_numbers(job))))


def _job(reply: Any) -> Job:
    """Read a job; urgency and attempt may have changed since its JSON was written."""
    urgency, attempt, document = reply
    return Job.from_json(document).model_copy(update={"urgency": Urgency(text(urgency)), "attempt": attempt})


def _jobs(replies: Iterable[Any]) -> tuple[Job, ...]:
    return tuple(map(_job, replies))


def _enqueue_result(reply: Any) -> EnqueueResult:
    return EnqueueResult(EnqueueStatus(text(reply[0])), *map(text, reply[1:]))


def _take_result(reply: Any) -> TakeResult:
    status, job, waited, dropped = reply
    return TakeResult(
        TakeStatus(text(status)), None if job is None else _job(job), waited / 1000, _jobs(dropped)
    )


def _sweep_result(reply: Any) -> SweepResult:
    put_back, lost, too_old, waiting, running = reply
    return SweepResult(_jobs(put_back), _jobs(lost), _jobs(too_old), waiting, running)


def _pair(reply: Any) -> tuple[int, int]:
    ready, running = reply
    return ready, running


def _depth(reply: Any) -> Depth:
    ready, running, oldest_ms, tenants = reply
    return Depth(ready, running, oldest_ms / 1000, tenants)
