"""The fleet scripts in plain Python: the ready index, the running leases, and who is next."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ebbtide_core.contract.job import Urgency
from ebbtide_core.names import encoded
from ebbtide_core.store.fleet_calls import MAX_ATTEMPTS, Depth
from ebbtide_core.store.results import EnqueueResult, EnqueueStatus, SweepResult, TakeResult, TakeStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ebbtide_core.contract.job import Job
    from ebbtide_core.names import Owner
    from tests.protocol.clock import Clock

Attempt = tuple[str, str, int, int, int]
"""Member, encoded incarnation, generation, epoch, attempt."""

NEVER: Final = -(2**52)


@dataclass(slots=True)
class Ready:
    """A job that waits. `served`, `order`: serials of the session's last take, and of this put."""

    job: Job
    since: float
    served: int
    order: int


@dataclass(slots=True)
class Running:
    """A job with a worker, until its lease runs out (seconds)."""

    job: Job
    worker: str
    until: float


@dataclass(slots=True)
class Index:
    """What the fleet's keys hold: at most one ready job a session, any number of running attempts.

    Serials rise with each put and each take. `waiting`: tenants with ready jobs, and the serial to
    order them by. `tenants`, `sessions`: serials of their last takes. `load`: running attempts by tenant.
    """

    ready: dict[str, Ready] = field(default_factory=dict)
    running: dict[Attempt, Running] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    tenants: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    load: Counter[str] = field(default_factory=Counter)
    serial: int = 0
    maintainer: str | None = None

    def copy(self) -> Index:
        """Return an index of its own."""
        return Index(
            {member: replace(ready) for member, ready in self.ready.items()},
            {attempt: replace(running) for attempt, running in self.running.items()},
            dict(self.waiting),
            dict(self.tenants),
            dict(self.sessions),
            self.load.copy(),
            self.serial,
            self.maintainer,
        )


def attempt_of(job: Job) -> Attempt:
    """Return the name of a job's attempt."""
    return job.owner.member, encoded(job.incarnation), job.generation, job.epoch, job.attempt


def age(job: Job) -> tuple[int, int, int]:
    """Return what orders the attempts of one life of a session."""
    return job.generation, job.epoch, job.attempt


class FleetModel:
    """The index of all sessions. A method is one script; `clock` is the server's."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.index = Index()

    def enqueue(self, job: Job, *, ttl: float, max_pending: int | None = None) -> EnqueueResult:
        """Put a claimed job in, unless the session's ready one is as new, or this very attempt runs."""
        if attempt_of(job) in self.index.running:
            return EnqueueResult(EnqueueStatus.STALE)
        old = self.index.ready.get(job.owner.member)
        if old is None and self._is_full(encoded(job.tenant), max_pending):
            return EnqueueResult(EnqueueStatus.REFUSED, "max_pending")
        if old and not self._newer(job, old.job):
            return EnqueueResult(EnqueueStatus.STALE)
        self._put(job)
        return EnqueueResult(EnqueueStatus.REPLACED if old else EnqueueStatus.QUEUED)

    def raise_urgency(self, owner: Owner) -> bool:
        """Make the session's ready `lo` job `hi`, in its place."""
        ready = self.index.ready.get(owner.member)
        if ready is None or ready.job.urgency is Urgency.HI:
            return False
        ready.job = ready.job.model_copy(update={"urgency": Urgency.HI})
        return True

    def unqueue(self, owner: Owner, *, incarnation: str, generation: int, epoch: int) -> bool:
        """Take the session's ready job out unless it is of a later claim, or of another life."""
        ready = self.index.ready.get(owner.member)
        if ready is None or ready.job.incarnation != incarnation:
            return False
        if (ready.job.generation, ready.job.epoch) > (generation, epoch):
            return False
        self._pull(owner.member)
        return True

    def forget_member(self, owner: Owner) -> tuple[int, int]:
        """Take a session's jobs, ready and running, out, and that it was ever served."""
        ready = owner.member in self.index.ready
        if ready:
            self._pull(owner.member)
        running = [attempt for attempt in self.index.running if attempt[0] == owner.member]
        for attempt in running:
            self._finish(attempt)
        self.index.sessions.pop(owner.member, None)
        return int(ready), len(running)

    def mentions(self, owner: Owner) -> int:
        """Count the server's entries that name the session: a ready job has three, a running attempt two."""
        running = sum(attempt[0] == owner.member for attempt in self.index.running)
        served = owner.member in self.index.sessions
        return 3 * (owner.member in self.index.ready) + 2 * running + served

    def take(
        self, worker_id: str, *, lease: float, max_queue_age: float, cap: int | None = None, ttl: float
    ) -> TakeResult:
        """Give the next job: of the tenant, then of the session served longest ago; `hi` before `lo`."""
        dropped = self._pull_older(max_queue_age)
        tenants = [t for t in self.index.waiting if cap is None or self.index.load[t] < cap]
        if not tenants:
            status = TakeStatus.CAPPED if self.index.waiting else TakeStatus.EMPTY
            return TakeResult(status, dropped=dropped)
        tenant = min(tenants, key=self.index.waiting.__getitem__)
        member = min(self._members(tenant), key=self._rank)
        waited = self.clock.now - self.index.ready[member].since
        job = self._pull(member)
        self._start(job, encoded(worker_id), lease)
        return TakeResult(TakeStatus.JOB, job, waited, dropped)

    def renew(self, job: Job, lease: float) -> bool:
        """Renew a running attempt's lease; False when it is not running any more."""
        running = self.index.running.get(attempt_of(job))
        if running:
            running.until = self.clock.now + lease
        return running is not None

    def done(self, job: Job) -> bool:
        """Take an attempt off the running ones."""
        return self._finish(attempt_of(job))

    def sweep(
        self, *, tick: float, max_attempts: int = MAX_ATTEMPTS, max_queue_age: float, ttl: float
    ) -> SweepResult:
        """Put jobs of expired leases back as their next attempt, but for the last or behind a newer job."""
        put_back, lost = [], []
        for attempt in self._expired():
            job = self.index.running[attempt].job
            self._finish(attempt)
            if job.attempt + 1 >= max_attempts:
                lost.append(job)
            elif self._put_back(job.again()):
                put_back.append(job.again())
        too_old = self._pull_older(max_queue_age)
        waiting = sum(ready.since < self.clock.now - tick for ready in self.index.ready.values())
        return SweepResult(tuple(put_back), tuple(lost), too_old, waiting, len(self.index.running))

    def tick_lock(self, worker_id: str, ttl: float) -> bool:
        """Take the maintenance lock. It runs out by the server's own time, which no test waits for."""
        if self.index.maintainer:
            return False
        self.index.maintainer = worker_id
        return True

    def depth(self) -> Depth:
        """Count what the index holds."""
        oldest = min((ready.since for ready in self.index.ready.values()), default=self.clock.now)
        return Depth(
            len(self.index.ready), len(self.index.running), self.clock.now - oldest, len(self.index.waiting)
        )

    def _is_full(self, tenant: str, limit: int | None) -> bool:
        return limit is not None and len(self._members(tenant)) >= limit

    def _members(self, tenant: str) -> list[str]:
        return [m for m, ready in self.index.ready.items() if encoded(ready.job.tenant) == tenant]

    def _newer(self, job: Job, ready: Job) -> bool:
        """Say whether a job replaces the ready one of its session: a later attempt, or of another life."""
        return job.incarnation != ready.incarnation or age(job) > age(ready)

    def _rank(self, member: str) -> tuple[bool, int, int]:
        ready = self.index.ready[member]
        return ready.job.urgency is Urgency.LO, ready.served, ready.order

    def _next_serial(self) -> int:
        self.index.serial += 1
        return self.index.serial

    def _put(self, job: Job) -> None:
        member, tenant, order = job.owner.member, encoded(job.tenant), self._next_serial()
        served = self.index.sessions.get(member, 0)
        self.index.ready[member] = Ready(job, self.clock.now, served, order)
        if tenant not in self.index.waiting:
            self.index.waiting[tenant] = self.index.tenants.get(tenant, NEVER + order)

    def _put_back(self, job: Job) -> bool:
        ready = self.index.ready.get(job.owner.member)
        if ready and (job.incarnation != ready.job.incarnation or not self._newer(job, ready.job)):
            return False
        self._put(job)
        return True

    def _pull(self, member: str) -> Job:
        job = self.index.ready.pop(member).job
        tenant = encoded(job.tenant)
        if not self._members(tenant):
            del self.index.waiting[tenant]
        return job

    def _pull_older(self, max_age: float) -> tuple[Job, ...]:
        limit = self.clock.now - max_age
        old = sorted((r.since, m) for m, r in self.index.ready.items() if r.since < limit)
        return tuple(self._pull(member) for _, member in old)

    def _start(self, job: Job, worker: str, lease: float) -> None:
        tenant, serial = encoded(job.tenant), self._next_serial()
        self.index.tenants[tenant] = self.index.sessions[job.owner.member] = serial
        if tenant in self.index.waiting:
            self.index.waiting[tenant] = serial
        self.index.running[attempt_of(job)] = Running(job, worker, self.clock.now + lease)
        self.index.load[tenant] += 1

    def _finish(self, attempt: Attempt) -> bool:
        running = self.index.running.pop(attempt, None)
        if running is None:
            return False
        tenant = encoded(running.job.tenant)
        self.index.load[tenant] -= 1
        if not self.index.load[tenant]:
            del self.index.load[tenant]
        return True

    def _expired(self) -> list[Attempt]:
        return in_order_of_lease(
            (attempt, running)
            for attempt, running in self.index.running.items()
            if running.until < self.clock.now
        )


def in_order_of_lease(running: Iterable[tuple[Attempt, Running]]) -> list[Attempt]:
    """Return attempts as the server lists them: by the end of the lease, then by name."""
    return [a for _, _, a in sorted((r.until, " ".join(map(str, a)), a) for a, r in running)]
