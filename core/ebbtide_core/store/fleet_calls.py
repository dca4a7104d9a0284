"""The scripts of the ready index and the running leases. Leases, ages and lifetimes are in seconds.

Each run of a job has an attempt number of its own, also after `hand_back`: a late message of the worker that
had it before can't touch the next one. How many of them count against `max_attempts` is kept apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from ebbtide_core import names
from ebbtide_core.contract.job import Job, Urgency
from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.store.results import (
    DeadLetter,
    DeathReason,
    EnqueueResult,
    EnqueueStatus,
    JobList,
    JobState,
    ListedJob,
    RenewStatus,
    SweepResult,
    TakeResult,
    TakeStatus,
)
from ebbtide_core.store.script import Call, ms, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ebbtide_core.contract.tenant import TenantPolicy
    from ebbtide_core.names import Owner

MAX_ATTEMPTS: Final = 3
MICROS: Final = 1_000_000
"""Spending is kept in whole millionths of a dollar."""

_LIMITS: Final = names.fleet("limits")
_OTHERS: Final = "*"
_KEYS: Final = (
    *map(names.fleet, ("ready", "active", "since", "jobs", "running", "attempts", "load")),
    *map(names.fleet, ("tenants", "sessions", "meta")),
    _LIMITS,
    *map(names.fleet, ("spent", "credit", "dead", "letters", "places")),
)


@dataclass(frozen=True, slots=True)
class Depth:
    """Ready jobs, running attempts, seconds the oldest job has been ready, tenants that have ready jobs, dead
    letters.
    """

    ready: int
    running: int
    oldest_ready: float
    tenants: int
    dead: int = 0


@dataclass(frozen=True, slots=True)
class Paid:
    """What summarisers were paid for an attempt since it was last told: tokens of all kinds, US dollars."""

    tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What was paid for a tenant since midnight UTC, by the server's clock: tokens, US dollars."""

    tokens: int
    dollars: float


NOTHING: Final = Paid()


def enqueue(job: Job, *, ttl: float) -> Call[EnqueueResult]:
    """Put a claimed job into the ready index, unless its tenant's limits say no.

    A job that replaces its session's ready one is never refused for the number of jobs that wait.
    """
    argv = (job.owner.member, job.urgency.value, *_numbers(job), job.to_json(), ms(ttl))
    return Call("enqueue", _KEYS, argv, _enqueue_result)


def limits_put(tenant: str | None, policy: TenantPolicy) -> Call[bool]:
    """Store what a tenant may have, None for those without an entry; says whether it is a new entry.

    It holds from the next script on, and never runs out.
    """
    return Call("limits_put", (_LIMITS,), (_named(tenant), _figures(policy)), bool)


def limits_drop(tenant: str | None) -> Call[bool]:
    """Remove what a tenant may have, None for those without an entry; says whether there was one."""
    return Call("limits_drop", (_LIMITS,), (_named(tenant),), bool)


def tenants() -> Call[tuple[str, ...]]:
    """List the tenants that have limits of their own, sorted."""
    return Call("limits_names", (_LIMITS,), (), _tenants)


def spent(tenant: str) -> Call[Spent]:
    """Tell what was paid for a tenant today."""
    return Call("spent", _KEYS, (names.encoded(tenant),), _spent)


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
    """Take a session out of the index, its dead letters too, and return how many ready jobs and running
    attempts it had there.
    """
    return Call("forget_member", _KEYS, (owner.member,), _pair)


def mentions(owner: Owner) -> Call[int]:
    """Count the entries of the index that name a session."""
    return Call("mentions", _KEYS, (owner.member,), int)


def take(
    worker_id: str, *, lease: float, max_queue_age: float, cap: int | None = None, ttl: float
) -> Call[TakeResult]:
    """Give a worker the next job for `lease`, and take those out that waited past `max_queue_age`.

    `cap` is how many attempts of one tenant may run whose limits don't say, None for any number.
    """
    limit = "" if cap is None else cap
    argv = (names.encoded(worker_id), ms(lease), ms(max_queue_age), limit, ms(ttl))
    return Call("take", _KEYS, argv, _take_result)


def renew(job: Job, lease: float, paid: Paid = NOTHING) -> Call[RenewStatus]:
    """Renew a running attempt; what was paid for it counts also when it lost its lease, and each time that it
    is told.
    """
    return Call(
        "renew", _KEYS, (_attempt(job), ms(lease), *_paid(paid)), lambda reply: RenewStatus(text(reply))
    )


def done(job: Job, paid: Paid = NOTHING) -> Call[bool]:
    """Take an attempt off the running ones; False when it had lost its lease. What was paid counts anyway."""
    return Call("done", _KEYS, (_attempt(job), *_paid(paid)), bool)


def hand_back(job: Job, worker_id: str) -> Call[bool]:
    """Put a worker's running attempt back where its job stood when it was taken; one that stops does so.

    Another worker gets the job under the next attempt number; the one handed back does not count against
    `max_attempts`. The job's age begins anew. False, and nothing changes, unless the attempt runs and is this
    worker's. Where a job is ready that replaced this one, the attempt only ends.
    """
    return Call("hand_back", _KEYS, (_attempt(job), names.encoded(worker_id)), bool)


def sweep(
    *, tick: float, max_attempts: int = MAX_ATTEMPTS, max_queue_age: float, ttl: float
) -> Call[SweepResult]:
    """Put jobs of expired leases back, unless a newer one of the session is ready, and drop those too old.

    The job's attempt number is the next one in `put_back`, the one that lost its lease in `lost`. Each job in
    `lost` gets a dead letter. Attempts that were handed back don't count.
    """
    argv = (ms(tick), max_attempts, ms(max_queue_age), ms(ttl))
    return Call("sweep", _KEYS, argv, _sweep_result)


def tick_lock(worker_id: str, ttl: float) -> Call[bool]:
    """Take the maintenance lock for `ttl`; False when a worker has it."""
    return Call("tick_lock", (names.fleet("tick"),), (worker_id, ms(ttl)), bool)


def dead_letters() -> Call[tuple[DeadLetter, ...]]:
    """List the jobs that were given up, the newest first; the latest 1,000 are kept."""
    return Call("dead_letters", _KEYS, (), lambda replies: tuple(map(_letter, replies)))


def dead_drop(job_id: str) -> Call[Job | None]:
    """Take a dead letter out and return its job, None when there is none."""
    return Call("dead_drop", _KEYS, (job_id,), lambda reply: None if reply is None else _job(reply))


def jobs(limit: int, tenant: str | None = None) -> Call[JobList]:
    """List at most `limit` ready jobs, in the order of being served within their tenants, and as many running
    ones, whose lease runs out first first; of one tenant, or of all.
    """
    whose = "" if tenant is None else names.encoded(tenant)
    return Call("jobs", _KEYS, (whose, limit), _job_list)


def depth() -> Call[Depth]:
    """Count what the index holds."""
    return Call("depth", _KEYS, (), _depth)


def _numbers(job: Job) -> tuple[str, int, int, int]:
    return names.encoded(job.incarnation), job.generation, job.epoch, job.attempt


def _attempt(job: Job) -> str:
    return " ".join(map(str, (job.owner.member, *_numbers(job))))


def _named(tenant: str | None) -> str:
    return _OTHERS if tenant is None else names.encoded(tenant)


def _figures(policy: TenantPolicy) -> str:
    spend = policy.spend_a_day
    figures = (
        policy.mode.value,
        policy.concurrency,
        policy.weight,
        policy.max_pending,
        policy.tokens_a_day,
        None if spend is None else _micros(spend),
    )
    return " ".join("-" if figure is None else str(figure) for figure in figures)


def _micros(dollars: float) -> int:
    return round(dollars * MICROS)


def _paid(paid: Paid) -> tuple[int, int]:
    return paid.tokens, _micros(paid.dollars)


def _tenants(replies: Iterable[Any]) -> tuple[str, ...]:
    return tuple(sorted(unquote(name) for name in map(text, replies) if name != _OTHERS))


def _spent(reply: Any) -> Spent:
    tokens, micros = reply
    return Spent(tokens, micros / MICROS)


def _job(reply: Any) -> Job:
    """Read a job; urgency and attempt may have changed since its JSON was written."""
    urgency, attempt, document = reply
    return Job.from_json(document).model_copy(update={"urgency": Urgency(text(urgency)), "attempt": attempt})


def _jobs(replies: Iterable[Any]) -> tuple[Job, ...]:
    return tuple(map(_job, replies))


def _enqueue_result(reply: Any) -> EnqueueResult:
    status, *reason = map(text, reply)
    return EnqueueResult(EnqueueStatus(status), *map(Refusal, reason))


def _letter(reply: Any) -> DeadLetter:
    reason, at_ms, job = reply
    return DeadLetter(_job(job), DeathReason(text(reason)), at_ms / 1000)


def _listed(reply: Any) -> ListedJob:
    state, age_ms, worker, job = reply
    return ListedJob(_job(job), JobState(text(state)), age_ms / 1000, unquote(text(worker)))


def _job_list(reply: Any) -> JobList:
    listed, ready, running = reply
    return JobList(tuple(map(_listed, listed)), ready, running)


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
    ready, running, oldest_ms, tenants, dead = reply
    return Depth(ready, running, oldest_ms / 1000, tenants, dead)
