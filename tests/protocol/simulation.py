"""A fleet by the second: many sessions, a broker's permits, workers that drain, a maintenance tick."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ebbtide_core.contract.job import After, Job, Urgency
from ebbtide_core.lineage.chain import Position
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.results import EnqueueStatus, TakeStatus
from tests.protocol.ground import MAX_QUEUE_AGE, RUNNING_LEASE, STATE_TTL, TICK

if TYPE_CHECKING:
    from tests.protocol.stores import Runs

RENEWAL: Final = 10


def job(
    owner: Owner,
    *,
    incarnation: str = "life",
    generation: int = 0,
    epoch: int = 1,
    attempt: int = 0,
    urgency: Urgency = Urgency.LO,
) -> Job:
    """Return a job for the index, which looks at nothing but what is given here."""
    return Job(
        job_id=f"job of {owner.member}",
        tenant=owner.tenant,
        session_id=owner.session_id,
        incarnation=incarnation,
        generation=generation,
        epoch=epoch,
        attempt=attempt,
        after=After(number=0, body=""),
        base_version=0,
        position=Position(8, bytes(16)),
        manifest_id="manifest",
        urgency=urgency,
        remaining_ms=300_000,
    )


@dataclass(slots=True)
class Busy:
    """A worker's job, and the seconds it has been going."""

    job: Job
    seconds: int = 0


@dataclass(slots=True)
class Simulation:
    """Jobs take `job_seconds`; those of `poison` sessions kill their worker; `cap` bounds a tenant's.

    What came of it: `served` and `dropped` jobs and `failures` by session, when it was first served,
    `waits` of the jobs taken in seconds, whose they were in the order `given`, how often workers asked
    (`takes`), `deaths` of workers, `permits_of_ticks` sent by maintenance.
    """

    store: Runs
    workers: int = 1
    job_seconds: int = 5
    cap: int | None = None
    poison: frozenset[Owner] = frozenset()
    now: int = 0
    permits: int = 0
    slots: list[Busy | None] = field(init=False)
    open_jobs: Counter[Owner] = field(default_factory=Counter)
    epochs: Counter[Owner] = field(default_factory=Counter)
    served: Counter[Owner] = field(default_factory=Counter)
    dropped: Counter[Owner] = field(default_factory=Counter)
    failures: Counter[Owner] = field(default_factory=Counter)
    first_served: dict[Owner, int] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    given: list[Owner] = field(default_factory=list)
    takes: int = 0
    permits_of_ticks: int = 0
    deaths: int = 0

    def __post_init__(self) -> None:
        self.slots = [None] * self.workers

    def busy(self, owner: Owner) -> bool:
        """Say whether the session has a job, ready or running."""
        return self.open_jobs[owner] > 0

    def running(self) -> Counter[str]:
        """Return how many jobs of each tenant run."""
        return Counter(slot.job.tenant for slot in self.slots if slot)

    def enqueue(self, owner: Owner, urgency: Urgency = Urgency.LO) -> None:
        """Put a new job in and send its permit."""
        self.epochs[owner] += 1
        new = job(owner, epoch=self.epochs[owner], urgency=urgency)
        status = self.store.run(fleet_calls.enqueue, new, ttl=STATE_TTL).status
        self.open_jobs[owner] += status is EnqueueStatus.QUEUED
        self.permits += 1

    def second(self) -> None:
        """Let one second pass: a tick when it is time, then a step of each worker."""
        self.now += 1
        self.store.pass_time(1)
        if self.now % TICK == 0:
            self._tick()
        for k in range(self.workers):
            self._step(k)

    def _tick(self) -> None:
        swept = self.store.run(fleet_calls.sweep, tick=TICK, max_queue_age=MAX_QUEUE_AGE, ttl=STATE_TTL)
        for lost in swept.lost:
            self.failures[lost.owner] += 1
            self.open_jobs[lost.owner] -= 1
        self._drop(swept.too_old)
        sent = min(swept.waiting, self.slots.count(None))
        self.permits += sent
        self.permits_of_ticks += sent

    def _drop(self, jobs: tuple[Job, ...]) -> None:
        for old in jobs:
            self.dropped[old.owner] += 1
            self.open_jobs[old.owner] -= 1

    def _step(self, k: int) -> None:
        slot = self.slots[k]
        if slot is None:
            if self.permits:
                self.permits -= 1
                self.slots[k] = self._take(k)
        elif slot.job.owner in self.poison:
            self.deaths += 1
            self.slots[k] = None
        else:
            self._go_on(k, slot)

    def _go_on(self, k: int, slot: Busy) -> None:
        slot.seconds += 1
        if slot.seconds % RENEWAL == 0:
            self.store.run(fleet_calls.renew, slot.job, RUNNING_LEASE)
        if slot.seconds >= self.job_seconds:
            self.store.run(fleet_calls.done, slot.job)
            self.served[slot.job.owner] += 1
            self.first_served.setdefault(slot.job.owner, self.now)
            self.open_jobs[slot.job.owner] -= 1
            self.slots[k] = self._take(k)

    def _take(self, k: int) -> Busy | None:
        self.takes += 1
        result = self.store.run(
            fleet_calls.take,
            f"worker-{k}",
            lease=RUNNING_LEASE,
            max_queue_age=MAX_QUEUE_AGE,
            cap=self.cap,
            ttl=STATE_TTL,
        )
        self._drop(result.dropped)
        if result.status is not TakeStatus.JOB:
            return None
        assert result.job is not None
        self.waits.append(result.waited)
        self.given.append(result.job.owner)
        return Busy(result.job)
