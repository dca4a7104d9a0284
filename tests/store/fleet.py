"""The ready index of the store under test, driven with few words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ebbtide_core.contract.job import After, Job, Urgency
from ebbtide_core.contract.tenant import Refusal, TenantPolicy
from ebbtide_core.lineage.chain import Position
from ebbtide_core.store import fleet_calls as calls
from ebbtide_core.store.fleet_calls import NOTHING, Paid, Spent
from ebbtide_core.store.results import EnqueueStatus

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from ebbtide_core.store.results import DeadLetter, RenewStatus, SweepResult, TakeResult

TTL = 600.0
WORKER = "worker 1"
LEASE = 30.0
MAX_AGE = 120.0
TICK = 5.0


def job(session: str, tenant: str = "acme", **given: Any) -> Job:
    """Return a job of a session."""
    defaults: dict[str, Any] = {
        "job_id": f"job-{session}",
        "incarnation": "life-1",
        "generation": 0,
        "epoch": 1,
        "after": After(number=0, body=""),
        "base_version": 0,
        "position": Position(10, b"p" * 16),
        "manifest_id": "m",
        "urgency": Urgency.LO,
        "remaining_ms": 300_000,
    }
    return Job(**{**defaults, "tenant": tenant, "session_id": session, **given})


@dataclass
class Fleet:
    """Runs the fleet scripts with defaults."""

    store: SyncStore

    def put(self, *jobs: Job) -> EnqueueStatus:
        """Enqueue jobs in order, and return what the last was answered."""
        return [self.store.run(calls.enqueue(job, ttl=TTL)).status for job in jobs][-1]

    def refused(self, job: Job) -> Refusal:
        """Enqueue a job; it must be refused. Return why."""
        result = self.store.run(calls.enqueue(job, ttl=TTL))
        assert result.status is EnqueueStatus.REFUSED
        assert result.reason is not None
        return result.reason

    def limit(self, tenant: str | None, **policy: Any) -> None:
        """Say what a tenant may have, None for those of whom nothing is said."""
        self.store.run(calls.limits_put(tenant, TenantPolicy(**policy)))

    def take(self, cap: int | None = None) -> TakeResult:
        """Call `take`."""
        return self.store.run(calls.take(WORKER, lease=LEASE, max_queue_age=MAX_AGE, cap=cap, ttl=TTL))

    def taken(self, cap: int | None = None) -> Job:
        """Take a job; there must be one."""
        job = self.take(cap).job
        assert job is not None
        return job

    def drain(self, cap: int | None = None) -> list[str]:
        """Take until nothing is given, and return the sessions in order."""
        order = []
        while (job := self.take(cap).job) is not None:
            order.append(job.session_id)
        return order

    def sweep(self, max_attempts: int = 3) -> SweepResult:
        """Call `sweep`."""
        return self.store.run(
            calls.sweep(tick=TICK, max_attempts=max_attempts, max_queue_age=MAX_AGE, ttl=TTL)
        )

    def renew(self, job: Job, paid: Paid = NOTHING) -> RenewStatus:
        """Call `renew`."""
        return self.store.run(calls.renew(job, LEASE, paid))

    def done(self, job: Job, paid: Paid = NOTHING) -> bool:
        """Call `done`."""
        return self.store.run(calls.done(job, paid))

    def hand_back(self, job: Job, worker: str = WORKER) -> bool:
        """Call `hand_back`."""
        return self.store.run(calls.hand_back(job, worker))

    def dead(self) -> tuple[DeadLetter, ...]:
        """Call `dead_letters`."""
        return self.store.run(calls.dead_letters())

    def spent(self, tenant: str = "acme") -> Spent:
        """Call `spent`."""
        return self.store.run(calls.spent(tenant))

    def raise_urgency(self, job: Job) -> bool:
        """Call `raise_urgency` for the job's session."""
        return self.store.run(calls.raise_urgency(job.owner))

    def unqueue(self, job: Job) -> bool:
        """Call `unqueue` for the job's claim."""
        return self.store.run(
            calls.unqueue(job.owner, incarnation=job.incarnation, generation=job.generation, epoch=job.epoch)
        )

    def forget_member(self, job: Job) -> tuple[int, int]:
        """Call `forget_member` for the job's session."""
        return self.store.run(calls.forget_member(job.owner))

    def mentions(self, job: Job) -> int:
        """Call `mentions` for the job's session."""
        return self.store.run(calls.mentions(job.owner))

    def depth(self) -> calls.Depth:
        """Call `depth`."""
        return self.store.run(calls.depth())
