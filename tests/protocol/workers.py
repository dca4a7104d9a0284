"""The workers of a test: each step of a job is an action of its own, so that anything may happen between."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.results import GuardStatus, PublishStatus, RenewStatus, TakeStatus
from tests.protocol import invariants
from tests.protocol.ground import GUARD_LEASE, MAX_QUEUE_AGE, RECORDS_KEPT, RUNNING_LEASE, STATE_TTL

if TYPE_CHECKING:
    from ebbtide_core.contract.job import Job
    from ebbtide_core.store.results import PublishResult, TakeResult
    from tests.protocol.conversation import Message
    from tests.protocol.ground import Ground
    from tests.protocol.invariants import Payments, Publications

CHUNK: Final = 4


@dataclass(eq=False, slots=True)
class Run:
    """One attempt at one worker. `lapsed`: its lease was lost. `excused`: data it relied on was lost, or
    rolled back. `spoiled`: a partial that it uses fails validation.
    """

    job: Job
    guarded: bool = False
    paid: bool = False
    lapsed: bool = False
    excused: bool = False
    spoiled: bool = False
    body: str = ""
    chunks: list[tuple[Message, ...]] = field(default_factory=list)

    @property
    def life(self) -> tuple[str, int]:
        """The life of the session that the job belongs to."""
        return self.job.incarnation, self.job.generation


class Worker:
    """One worker slot: idle, or in one run. `handed`: the run that it last handed back."""

    def __init__(self, index: int, ground: Ground) -> None:
        self.index = index
        self.ground = ground
        self.run: Run | None = None
        self.handed: Run | None = None

    @property
    def name(self) -> str:
        """What the index knows it by."""
        return f"worker-{self.index}"

    def take(self) -> None:
        """Spend a permit on the next job; settle those that waited too long."""
        if self.run or not self.ground.permits:
            return
        self.ground.permits -= 1
        result = self._take()
        for old in result.dropped:
            self.ground.settle(old, Outcome.NEUTRAL)
        if result.status is TakeStatus.JOB:
            assert result.job is not None
            self.run = Run(result.job)

    def guard(self) -> None:
        """Ask the session before starting."""
        run = self.run
        if run and not run.guarded:
            run.guarded = self._goes_on(run)

    def renew(self) -> None:
        """Touch both leases, as the loop does between chunks; stop if either says so."""
        if self.run and self.run.guarded:
            self._may_pay(self.run)

    def pay(self, payments: Payments, running: list[Run], *, good: bool) -> None:
        """Make the partials that no memo holds yet; `good` is what a paid one is worth."""
        run = self.run
        if run is None or not run.guarded or not self._may_pay(run):
            return
        payments.paid(run, running)
        run.paid = True
        run.chunks = self.plan(run)
        run.spoiled = False
        for chunk in run.chunks:
            if not self.ground.memos.setdefault(chunk, good):
                run.spoiled = True

    def finish(self, publications: Publications, outcome: Outcome) -> PublishStatus | None:
        """Publish, or settle; then leave the index."""
        run = self.run
        if run is None or not run.paid:
            return None
        status = None
        if outcome is Outcome.SUCCESS:
            outcome = self._judged(run)
        if outcome is Outcome.SUCCESS:
            status = self.publish(publications)
        else:
            self.ground.settle(run.job, outcome)
        self.leave()
        return status

    def publish(self, publications: Publications) -> PublishStatus | None:
        """Publish the run's record, the same each time; a refused run settles neutral."""
        run = self.run
        if run is None or not run.paid or run.spoiled:
            return None
        run.body = run.body or self._written(run)
        before = self.ground.store.state(run.job.owner)
        result = self._publish(run.job, run.body)
        if result.status is PublishStatus.PUBLISHED:
            publications.published(before, run.job, result.version)
        else:
            after = self.ground.store.state(run.job.owner)
            invariants.refusal_changed_nothing("publish", before, after)
        if result.status in (PublishStatus.FENCED, PublishStatus.SUPERSEDED):
            self.ground.settle(run.job, Outcome.NEUTRAL)
        return result.status

    def leave(self) -> None:
        """Take the run out of the index and forget it."""
        if self.run:
            self.ground.store.run(fleet_calls.done, self.run.job)
            self.run = None

    def hand_back(self) -> None:
        """Stop: hand the run to whoever receives the permit that is sent for it."""
        run = self.run
        if run is None:
            return
        if self.ground.store.run(fleet_calls.hand_back, run.job, self.name):
            self.ground.requeued(run.job)
            self.handed = run
        self.run = None

    def late(self) -> None:
        """Be heard of the run that was handed back: what was sent before that arrives only now."""
        run = self.handed
        if run is None:
            return
        before = self.ground.store.index()
        self.ground.store.run(fleet_calls.renew, run.job, RUNNING_LEASE)
        self.ground.store.run(fleet_calls.done, run.job)
        if not run.excused:
            invariants.late_word_changed_nothing(before, self.ground.store.index())
        self.ground.settle(run.job, Outcome.NEUTRAL)

    def crash(self) -> None:
        """Die: the index still shows the run."""
        self.run = None

    def plan(self, run: Run) -> list[tuple[Message, ...]]:
        """Return the chunks of the job: runs of messages from the base to the position."""
        messages = self.ground.ledger.manifests[run.job.manifest_id].messages
        return [messages[i : i + CHUNK] for i in range(0, len(messages), CHUNK)]

    def covered(self, run: Run) -> tuple[Message, ...]:
        """Return what the run's record stands for: the base and its chunks."""
        base = self.ground.ledger.manifests[run.job.manifest_id].base
        return sum(run.chunks, base.covers if base else ())

    def _written(self, run: Run) -> str:
        """Note the truth about the run's record and return the name of its body."""
        covers = self.covered(run)
        invariants.record_covers_its_job(self.ground.ledger.manifests[run.job.manifest_id], covers)
        body = f"body-{self.ground.number()}"
        self.ground.ledger.covers[body] = covers
        return body

    def _judged(self, run: Run) -> Outcome:
        """Validate: a spoiled summary deletes the memos it used; a job without manifest is nobody's fault."""
        if run.job.manifest_id not in self.ground.uploads:
            return Outcome.NEUTRAL
        if not run.spoiled:
            return Outcome.SUCCESS
        self.forget_memos(run)
        return Outcome.FAILURE

    def forget_memos(self, run: Run) -> None:
        """Delete the memos that the run used."""
        for chunk in run.chunks:
            self.ground.memos.pop(chunk, None)

    def asks(self, run: Run) -> GuardStatus:
        """Ask the session whether the run may start, or go on."""
        job = run.job
        return self.ground.store.run(
            session_calls.guard,
            job.owner,
            incarnation=job.incarnation,
            generation=job.generation,
            job_id=job.job_id,
            epoch=job.epoch,
            attempt=job.attempt,
            after=job.after,
            lease=GUARD_LEASE,
        )

    def _take(self) -> TakeResult:
        return self.ground.store.run(
            fleet_calls.take,
            self.name,
            lease=RUNNING_LEASE,
            max_queue_age=MAX_QUEUE_AGE,
            ttl=STATE_TTL,
        )

    def _publish(self, job: Job, body: str) -> PublishResult:
        return self.ground.store.run(
            session_calls.publish,
            job.owner,
            record_bytes=body.encode(),
            header=RecordHeader(
                version=job.after.number + 1, generation=job.generation, position=job.position, body=body
            ),
            after=job.after,
            incarnation=job.incarnation,
            kept=RECORDS_KEPT,
            state_ttl=STATE_TTL,
        )

    def _may_pay(self, run: Run) -> bool:
        renewed = self.ground.store.run(fleet_calls.renew, run.job, RUNNING_LEASE)
        if renewed is not RenewStatus.LOST:
            return self._goes_on(run)
        run.lapsed = True
        self.ground.settle(run.job, Outcome.NEUTRAL)
        self.run = None
        return False

    def _goes_on(self, run: Run) -> bool:
        """Say whether the session lets the run go on; one that may not settles and leaves."""
        if self.asks(run) is GuardStatus.GO:
            return True
        self.ground.settle(run.job, Outcome.NEUTRAL)
        self.leave()
        return False
