"""The fleet scripts in plain Python: the ready index, the running leases, and who is next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.names import encoded
from ebbtide_core.policy import Mode
from ebbtide_core.store.fleet_calls import MAX_ATTEMPTS, MICROS, NOTHING, Depth, Paid, Spent
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
from tests.protocol.model_index import (
    Attempt,
    Index,
    Ready,
    Running,
    age,
    attempt_of,
    in_order_of_lease,
    place_of,
)
from tests.protocol.model_limits import Bill, Limits, day_of

NEVER: Final = -(2**52)
OTHERS: Final = "*"
"""Under this name are the limits of tenants that have none."""

LETTERS: Final = 1_000

if TYPE_CHECKING:
    from ebbtide_core.contract.job import Job
    from ebbtide_core.contract.tenant import TenantPolicy
    from ebbtide_core.names import Owner
    from tests.protocol.clock import Clock


class FleetModel:
    """The index of all sessions. A method is one script; `clock` is the server's."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.index = Index()

    def enqueue(self, job: Job, *, ttl: float) -> EnqueueResult:
        """Put a claimed job in, unless the session's ready one is as new, this very attempt runs, or its
        tenant may not have it made.
        """
        if attempt_of(job) in self.index.running:
            return EnqueueResult(EnqueueStatus.STALE)
        old = self.index.ready.get(job.owner.member)
        if old and not self._newer(job, old.job):
            return EnqueueResult(EnqueueStatus.STALE)
        reason = self._refusal(encoded(job.tenant), replaces=old is not None)
        if reason:
            return EnqueueResult(EnqueueStatus.REFUSED, reason)
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
        self.index.dead = {k: d for k, d in self.index.dead.items() if d.job.owner != owner}
        return int(ready), len(running)

    def mentions(self, owner: Owner) -> int:
        """Count the server's entries that name the session: a ready job has three, and one if attempts of it
        were handed back; a running attempt three; a dead letter one.
        """
        running = sum(attempt[0] == owner.member for attempt in self.index.running)
        served = owner.member in self.index.sessions
        dead = sum(letter.job.owner == owner for letter in self.index.dead.values())
        ready = self.index.ready.get(owner.member)
        return (3 + (ready.handed > 0) if ready else 0) + 3 * running + dead + served

    def take(
        self, worker_id: str, *, lease: float, max_queue_age: float, cap: int | None = None, ttl: float
    ) -> TakeResult:
        """Give the next job: of the tenant, then of the session served longest ago; `hi` before `lo`."""
        dropped = self._pull_older(max_queue_age)
        tenants = [t for t in self.index.waiting if self._has_room(t, cap)]
        if not tenants:
            status = TakeStatus.CAPPED if self.index.waiting else TakeStatus.EMPTY
            return TakeResult(status, dropped=dropped)
        tenant = min(tenants, key=self.index.waiting.__getitem__)
        ready = self.index.ready[min(self._members(tenant), key=self._rank)]
        self._start(ready, encoded(worker_id), lease)
        return TakeResult(TakeStatus.JOB, ready.job, self.clock.now - ready.since, dropped)

    def renew(self, job: Job, lease: float, paid: Paid = NOTHING) -> RenewStatus:
        """Renew a running attempt's lease, and count what was paid."""
        running, tenant = self.index.running.get(attempt_of(job)), encoded(job.tenant)
        self._pay(attempt_of(job), paid)
        if running is None:
            return RenewStatus.LOST
        running.until = self.clock.now + lease
        used_up = self._limits(tenant).used_up(self._bill(tenant))
        return RenewStatus.OVER_BUDGET if used_up else RenewStatus.RENEWED

    def done(self, job: Job, paid: Paid = NOTHING) -> bool:
        """Take an attempt off the running ones, and count what was paid."""
        self._pay(attempt_of(job), paid)
        return self._finish(attempt_of(job))

    def hand_back(self, job: Job, worker_id: str) -> bool:
        """Put a worker's attempt back where its job stood, as the next one; its tenant's turn as well."""
        running = self.index.running.get(attempt_of(job))
        if running is None or running.worker != encoded(worker_id):
            return False
        self._finish(attempt_of(job))
        again = self._handed_back(running)
        if self._makes_room(again.job):
            self._put_in_place(again)
            self._give_turn_back(encoded(job.tenant), running.turn)
        return True

    def sweep(
        self, *, tick: float, max_attempts: int = MAX_ATTEMPTS, max_queue_age: float, ttl: float
    ) -> SweepResult:
        """Put jobs of expired leases back as their next attempt, but for the last or behind a newer job."""
        put_back, lost = [], []
        for attempt in self._expired():
            running = self.index.running[attempt]
            job, handed = running.job, running.handed
            self._finish(attempt)
            if job.attempt + 1 - handed >= max_attempts:
                lost.append(self._buried(job))
            elif self._makes_room(job.again()):
                self._put(job.again(), handed)
                put_back.append(job.again())
        self._forget_other_days()
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
        index = self.index
        oldest = min((ready.since for ready in index.ready.values()), default=self.clock.now)
        counts = len(index.ready), len(index.running), self.clock.now - oldest, len(index.waiting)
        return Depth(*counts, dead=len(index.dead))

    def jobs(self, limit: int, tenant: str | None = None) -> JobList:
        """List ready jobs by tenant and order of being served, and running ones by the end of the lease."""
        now, index = self.clock.now, self.index
        order = in_order_of_lease(index.running.items())
        waiting = [
            ListedJob(r.job, JobState.READY, now - r.since)
            for r in sorted(index.ready.values(), key=place_of)
        ]
        going = [
            ListedJob(r.job, JobState.RUNNING, now - r.taken, unquote(r.worker))
            for r in map(index.running.__getitem__, order)
        ]
        ready, running = (
            [one for one in of_all if tenant is None or one.job.tenant == tenant]
            for of_all in (waiting, going)
        )
        return JobList((*ready[:limit], *running[:limit]), len(ready), len(running))

    def limits_put(self, tenant: str | None, policy: TenantPolicy) -> bool:
        """Say what a tenant may have; those without an entry have what None has."""
        name = OTHERS if tenant is None else encoded(tenant)
        new = name not in self.index.limits
        self.index.limits[name] = Limits.of(policy)
        return new

    def limits_drop(self, tenant: str | None) -> bool:
        """Forget what a tenant may have."""
        return self.index.limits.pop(OTHERS if tenant is None else encoded(tenant), None) is not None

    def tenants(self) -> tuple[str, ...]:
        """List the tenants with limits of their own."""
        return tuple(sorted(unquote(name) for name in self.index.limits if name != OTHERS))

    def spent(self, tenant: str) -> Spent:
        """Tell what was paid for a tenant today."""
        bill = self._bill(encoded(tenant))
        return Spent(bill.tokens, bill.micros / MICROS)

    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """List what was given up, the newest first."""
        order = sorted(self.index.dead.values(), key=lambda letter: (letter.at, letter.job.job_id))
        return tuple(reversed(order))

    def dead_drop(self, job_id: str) -> Job | None:
        """Take a dead letter out."""
        letter = self.index.dead.pop(job_id, None)
        return letter.job if letter else None

    def _limits(self, tenant: str) -> Limits:
        return self.index.limits.get(tenant) or self.index.limits.get(OTHERS) or Limits()

    def _has_room(self, tenant: str, cap: int | None) -> bool:
        most = self._limits(tenant).concurrency or cap
        return most is None or self.index.load[tenant] < most

    def _refusal(self, tenant: str, *, replaces: bool) -> Refusal | None:
        limits = self._limits(tenant)
        if limits.mode is Mode.OFF:
            return Refusal.OFF
        if limits.pending is not None and not replaces and len(self._members(tenant)) >= limits.pending:
            return Refusal.MAX_PENDING
        return limits.used_up(self._bill(tenant))

    def _bill(self, tenant: str) -> Bill:
        """Return today's bill of a tenant."""
        today, bill = day_of(self.clock.now), self.index.bills.get(tenant)
        return bill if bill and bill.day == today else Bill(today)

    def _pay(self, attempt: Attempt, paid: Paid) -> None:
        tenant = attempt[0].split("/")[0]
        if paid != NOTHING:
            self.index.bills[tenant] = self._bill(tenant).plus(paid)

    def _forget_other_days(self) -> None:
        """Forget what was paid on other days, when a new one begins."""
        today = day_of(self.clock.now)
        if self.index.day != today:
            self.index.day = today
            self.index.bills = {t: bill for t, bill in self.index.bills.items() if bill.day == today}

    def _buried(self, job: Job) -> Job:
        """Write a dead letter for a job; beyond the most that are kept the oldest go."""
        self.index.dead[job.job_id] = DeadLetter(job, DeathReason.LEASE_LOST_TOO_OFTEN, self.clock.now)
        for letter in self.dead_letters()[LETTERS:]:
            del self.index.dead[letter.job.job_id]
        return job

    def _members(self, tenant: str) -> list[str]:
        return [member for member in self.index.ready if member.startswith(f"{tenant}/")]

    def _newer(self, job: Job, ready: Job) -> bool:
        """Say whether a job replaces the ready one of its session: a later attempt, or of another life."""
        return job.incarnation != ready.incarnation or age(job) > age(ready)

    def _rank(self, member: str) -> tuple[bool, int, int]:
        ready = self.index.ready[member]
        return ready.job.urgency is Urgency.LO, ready.served, ready.order

    def _next_serial(self) -> int:
        self.index.serial += 1
        return self.index.serial

    def _put(self, job: Job, handed: int = 0) -> None:
        served, order = self.index.sessions.get(job.owner.member, 0), self._next_serial()
        self._put_in_place(Ready(job, self.clock.now, served, order, handed))

    def _put_in_place(self, ready: Ready) -> None:
        tenant = encoded(ready.job.tenant)
        self.index.ready[ready.job.owner.member] = ready
        if tenant not in self.index.waiting:
            self.index.waiting[tenant] = self.index.tenants.get(tenant, NEVER + ready.order)

    def _handed_back(self, running: Running) -> Ready:
        return Ready(running.job.again(), self.clock.now, running.served, running.order, running.handed + 1)

    def _give_turn_back(self, tenant: str, turn: int) -> None:
        """Let the tenant take one more job where its turn was, unless a whole one is due there."""
        index = self.index
        if index.waiting[tenant] > turn or tenant in index.credit:
            index.waiting[tenant] = min(index.waiting[tenant], turn)
            index.credit[tenant] = index.credit.get(tenant, 0) + 1

    def _makes_room(self, job: Job) -> bool:
        """Say whether a job that comes back may be put in: no ready one of its session is as new."""
        ready = self.index.ready.get(job.owner.member)
        return ready is None or (job.incarnation == ready.job.incarnation and self._newer(job, ready.job))

    def _pull(self, member: str) -> Job:
        job = self.index.ready.pop(member).job
        tenant = encoded(job.tenant)
        if not self._members(tenant):
            del self.index.waiting[tenant]
            self.index.credit.pop(tenant, None)
        return job

    def _pull_older(self, max_age: float) -> tuple[Job, ...]:
        limit = self.clock.now - max_age
        old = sorted((r.since, m) for m, r in self.index.ready.items() if r.since < limit)
        return tuple(self._pull(member) for _, member in old)

    def _start(self, ready: Ready, worker: str, lease: float) -> None:
        index, job = self.index, ready.job
        tenant, serial = encoded(job.tenant), self._next_serial()
        turn, credit = index.waiting[tenant], self._credit(tenant)
        self._pull(job.owner.member)
        index.tenants[tenant] = index.sessions[job.owner.member] = serial
        self._go_on_with_turn(tenant, credit - 1, serial)
        now, place = self.clock.now, (ready.served, ready.order, ready.handed)
        index.running[attempt_of(job)] = Running(job, worker, now + lease, now, *place, turn)
        index.load[tenant] += 1

    def _credit(self, tenant: str) -> int:
        """Return how many jobs the tenant may take in its turn before another tenant's."""
        weight = self._limits(tenant).weight
        return min(self.index.credit.get(tenant, weight), weight)

    def _go_on_with_turn(self, tenant: str, credit: int, serial: int) -> None:
        if tenant not in self.index.waiting:
            return
        if credit:
            self.index.credit[tenant] = credit
        else:
            self.index.credit.pop(tenant, None)
            self.index.waiting[tenant] = serial

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
