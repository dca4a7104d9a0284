"""Jobs of the ready index and dead letters, as the command asks for them and changes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ebbtide_cli.hand.talk import NotDone, NotThere
from ebbtide_cli.jobs.words import no_claim, not_admitted
from ebbtide_cli.replay.view import shown
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import After, Job
from ebbtide_core.policy import Policy, queue_lease
from ebbtide_core.store import blob_calls, fleet_calls, session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import (
    ClaimResult,
    ClaimStatus,
    DeadLetter,
    EnqueueResult,
    EnqueueStatus,
    JobList,
    JobState,
    ListedJob,
)

ALL: Final = 100_000
"""More jobs than are looked through for one."""

_POLICY: Final = Policy()

Found = ListedJob | DeadLetter


@dataclass(frozen=True, slots=True)
class JobsDesk:
    """The jobs of a state store. All methods raise StoreUnavailable."""

    store: SyncStore

    def listed(self, tenant: str | None, limit: int) -> JobList:
        """Return ready and running jobs, at most so many of each."""
        return self.store.run(fleet_calls.jobs(limit, tenant))

    def dead(self, tenant: str | None) -> tuple[DeadLetter, ...]:
        """Return dead letters, the newest first."""
        letters = self.store.run(fleet_calls.dead_letters())
        return tuple(letter for letter in letters if tenant in (None, letter.job.tenant))

    def find(self, beginning: str) -> Found:
        """Return the one job whose id begins so; of a job that is also a dead letter, what is in the index.

        Raises NotThere when none or several do.
        """
        found: dict[str, Found] = {each.job.job_id: each for each in self._all(beginning)}
        if not found:
            raise NotThere(
                f"there is no job {beginning!r} in the index, and no dead letter: it has ended, or was "
                "dropped. `ebbtide jobs list` and `ebbtide jobs list --dead` show those that there are."
            )
        if len(found) > 1:
            several = ", ".join(map(shown, sorted(found)[:5]))
            raise NotThere(f"{len(found)} jobs begin with {beginning!r}: {several}")
        return next(iter(found.values()))

    def _all(self, beginning: str) -> Sequence[Found]:
        """Return what begins so; dead letters first, so that a job of the index takes their place."""
        there: list[Found] = [*self.dead(None), *self.listed(None, ALL).jobs]
        return [each for each in there if each.job.job_id.startswith(beginning)]

    def letter(self, beginning: str) -> DeadLetter:
        """Return the one dead letter whose job's id begins so. Raises NotThere; NotDone for another job."""
        found = self.find(beginning)
        if isinstance(found, ListedJob):
            raise NotDone(f"the job is {found.state.value}: there is nothing to retry, only dead letters are")
        return found

    def retry(self, letter: DeadLetter) -> Job:
        """Claim and enqueue a dead letter's job as a new attempt of its session, and return it.

        The dead letter is gone then. Raises NotDone, saying what to do, when that can't be; it stays then.
        """
        old = letter.job
        manifest = old.owner.manifest(old.manifest_id)
        if self.store.run(blob_calls.missing([manifest], ttl=_POLICY.upload_ttl)):
            raise NotDone(
                "what the host uploaded for it has run out. Drop it: the session's host asks anew by itself."
            )
        claim = self._claim(old)
        if claim.status is not ClaimStatus.OWN or claim.after is None:
            raise NotDone(no_claim(claim))
        job = _again(old, claim.epoch, claim.after)
        answer = self._enqueued(job)
        if answer.status not in (EnqueueStatus.QUEUED, EnqueueStatus.REPLACED):
            self._give_back(job)
            raise NotDone(not_admitted(answer, job))
        self.store.run(fleet_calls.dead_drop(job.job_id))
        return job

    def _claim(self, job: Job) -> ClaimResult:
        """Ask for the claim; whatever is new since the newest record is worth a job that is asked for."""
        return self.store.run(
            session_calls.claim(
                job.owner,
                incarnation=job.incarnation,
                generation=job.generation,
                job_id=job.job_id,
                position=job.position,
                new_tokens=1,
                min_new_tokens=0,
                waits=0,
                urgency=job.urgency,
                lease=_POLICY.claim_lease,
                state_ttl=_POLICY.state_ttl,
            )
        )

    def _enqueued(self, job: Job) -> EnqueueResult:
        answer = self.store.run(fleet_calls.enqueue(job, ttl=_POLICY.state_ttl))
        lease = queue_lease(_POLICY.max_queue_age, _POLICY.tick)
        if answer.status in (EnqueueStatus.QUEUED, EnqueueStatus.REPLACED):
            self.store.run(session_calls.queued(job.owner, job_id=job.job_id, epoch=job.epoch, lease=lease))
            self.store.run(tally_calls.tally_add(job.owner, tally_calls.ENQUEUED, ttl=_POLICY.state_ttl))
        return answer

    def _give_back(self, job: Job) -> None:
        """End the claim of a job that was not admitted; nothing counts against its session."""
        failures, ttl = _POLICY.breaker_failures, _POLICY.state_ttl
        self.store.run(
            session_calls.settle_attempt(job, Outcome.NEUTRAL, breaker_failures=failures, state_ttl=ttl)
        )

    def drop(self, found: Found) -> None:
        """Take out a dead letter or a ready job; the claim of a ready one ends without an outcome.

        Raises NotDone for a running job.
        """
        job = found.job
        if isinstance(found, DeadLetter):
            self.store.run(fleet_calls.dead_drop(job.job_id))
            return
        if found.state is JobState.RUNNING:
            raise NotDone(
                f"a worker has the job: {shown(found.worker)}. It ends by itself, or when its host calls "
                "`session.cancel()`."
            )
        self._end_claim(job)
        self.store.run(
            fleet_calls.unqueue(
                job.owner, incarnation=job.incarnation, generation=job.generation, epoch=job.epoch
            )
        )

    def _end_claim(self, job: Job) -> None:
        """End the claim that the job stands on, unless the session has another by now."""
        state = self.store.run(session_calls.look(job.owner))
        claim = state.view.claim if state else None
        if claim is not None and (claim.job_id, claim.epoch) == (job.job_id, job.epoch):
            self.store.run(session_calls.cancel(job.owner, state_ttl=_POLICY.state_ttl))


def _again(job: Job, epoch: int, after: After) -> Job:
    """Return a job for a new claim: its attempts and its time begin anew."""
    fresh = {"epoch": epoch, "after": after, "attempt": 0, "remaining_ms": round(_POLICY.job_deadline * 1000)}
    return job.model_copy(update=fresh)
