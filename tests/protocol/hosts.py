"""The hosts of a test: how a host decides, turn by turn, whatever store it talks to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.contract.job import Job, Urgency, job_id
from ebbtide_core.lineage.chain import Chain, Position, Relation
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.results import ClaimResult, ClaimStage, ClaimStatus, EnqueueStatus, SessionView
from tests.protocol import invariants
from tests.protocol.conversation import LEAST_SAVING, Conversation, SummaryMessage, measured
from tests.protocol.ground import (
    CLAIM_LEASE,
    COOLDOWN,
    HARD,
    KEEP,
    MIN_NEW,
    QUEUE_LEASE,
    SOFT,
    STATE_TTL,
    Manifest,
)

if TYPE_CHECKING:
    from ebbtide_core.contract.record import RecordHeader
    from tests.protocol.ground import Ground

MODEL: Final = "claude-test"
RATIOS: Final = (None, 1.25, 0.8)
"""What a host has measured of its estimator, turn by turn."""


class Did(StrEnum):
    """What a turn came to; DUE: a claim is due."""

    RACED = "raced"
    KEPT = "kept"
    OPEN = "open"
    DUE = "due"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a turn found, for the claim that follows. `waits`: a version it could have swapped, or 0."""

    view: SessionView
    waits: int
    urgency: Urgency


class Host:
    """One host process of the session; `life` counts its restarts, which forget all but the buffer."""

    def __init__(self, index: int, raw: bool, ground: Ground) -> None:
        self.index = index
        self.ground = ground
        self.talk = Conversation(raw)
        self.saved: Conversation | None = None
        self.life = 0
        self.swaps = 0
        self.forget()

    def forget(self) -> None:
        """Begin a new life: nothing is known but the conversation."""
        self.life += 1
        self.seq = 0
        self.plan: Plan | None = None
        self.job: Job | None = None

    def save(self) -> None:
        """Store the conversation, as a host does between processes."""
        self.saved = self.talk.copy(self.talk.raw)

    def restart(self, old: bool) -> None:
        """Start again, from the conversation as it is or as it was last saved."""
        source = self.saved if old and self.saved else self.talk
        self.talk = source.copy(self.talk.raw)
        self.forget()

    def take_over(self, other: Host) -> None:
        """Carry another host's session on, with its buffer or its raw history."""
        self.talk = other.talk.copy(self.talk.raw)
        self.forget()

    def catch_up(self, other: Host) -> None:
        """Append what another host's lineage has more, when this one's is its beginning."""
        known = len(self.talk.lineage)
        if other.talk.lineage[:known] == self.talk.lineage:
            for message in other.talk.lineage[known:]:
                self.talk.say(message)

    def turn(self, *, swaps: bool = True) -> Did:
        """One store round trip; from soft on swap the farthest usable record, or say that a claim is due."""
        self.plan = None
        self.seq += 1
        view = self._view()
        chain = self.talk.chain()
        if self.contradicted(view, chain):
            forked = self.fork(view)
            if forked is None:
                return Did.RACED
            view = replace(view, generation=forked, claim=None)
        waits = self.swap_best(view, chain, swaps=swaps)
        return self._judge(view, waits, swaps)

    def _view(self) -> SessionView:
        return self.ground.store.run(
            session_calls.turn,
            self.ground.owner,
            host=f"host-{self.index}-{self.life}",
            seq=self.seq,
            fresh_incarnation=self.ground.fresh_incarnation(),
            model=MODEL,
            ratio=RATIOS[self.seq % len(RATIOS)],
            state_ttl=STATE_TTL,
            breaker_cooldown=COOLDOWN,
        )

    def _judge(self, view: SessionView, waits: int, swaps: bool) -> Did:
        size = self.talk.size
        if size < SOFT:
            return Did.KEPT
        if size >= HARD and swaps:
            invariants.record_used_at_hard(self.talk, self.ground.kept_summaries())
        if view.breaker is BreakerState.OPEN:
            return Did.OPEN
        self.plan = Plan(view, waits, Urgency.HI if size >= HARD else Urgency.LO)
        return Did.DUE

    def contradicted(self, view: SessionView, chain: Chain) -> bool:
        """Say whether the claim or a record of the present generation contradicts the chain."""
        return any(chain.relation(p) is Relation.CONTRADICTS for p in self.present_positions(view))

    def is_behind(self, view: SessionView, chain: Chain) -> bool:
        """Say whether the chain is shorter than such a position."""
        return any(chain.relation(p) is Relation.AHEAD for p in self.present_positions(view))

    def present_positions(self, view: SessionView) -> list[Position]:
        """Return the positions of the claim and the kept records of the present generation."""
        positions = [h.position for h in view.headers if h.generation == view.generation]
        if view.claim and view.claim.generation == view.generation:
            positions.append(view.claim.position)
        return positions

    def fork(self, view: SessionView) -> int | None:
        """Raise the generation that the view showed; None when another host was faster."""
        return self.ground.store.run(
            session_calls.fork,
            self.ground.owner,
            incarnation=view.incarnation,
            generation=view.generation,
            state_ttl=STATE_TTL,
            cooldown=COOLDOWN,
        )

    def swap_best(self, view: SessionView, chain: Chain, *, swaps: bool) -> int:
        """Swap the farthest usable record; without `swaps`, return the version that could be."""
        if self.talk.size < SOFT:
            return 0
        for header in self.applicable(view, chain):
            summary = self.usable(header)
            if summary is None:
                continue
            if not swaps:
                return header.version
            invariants.swap_replaces_what_it_covers(self.talk, summary)
            self.talk.swap(summary)
            self.swaps += 1
            return 0
        return 0

    def applicable(self, view: SessionView, chain: Chain) -> list[RecordHeader]:
        """Return the kept records on the chain and beyond the buffer's base, farthest first."""
        found = [
            h
            for h in view.headers
            if not h.withdrawn
            and h.position.count > self.talk.base.count
            and chain.relation(h.position) is Relation.ON
        ]
        return sorted(found, key=lambda h: (h.position.count, h.version), reverse=True)

    def usable(self, header: RecordHeader) -> SummaryMessage | None:
        """Return the record's summary if its body is there and it makes the buffer a tenth smaller."""
        if not self.ground.has_body(header):
            return None
        summary = self.ground.ledger.summary(header)
        after = self.talk.after(header.position.count)
        return summary if measured(summary, after) <= LEAST_SAVING * self.talk.size else None

    def claim(self) -> ClaimResult | None:
        """Claim what the last turn found due; None when there is nothing to claim, or a fork was raced."""
        plan, self.plan = self.plan, None
        chain = self.talk.chain()
        cut = chain.tip.count - KEEP
        if plan is None or cut <= chain.base.count:
            return None
        generation: int | None = plan.view.generation
        if self.is_behind(plan.view, chain):
            generation = self.fork(plan.view)
        if generation is None:
            return None
        return self._claimed(plan, generation, chain, chain.at(cut))

    def _claimed(self, plan: Plan, generation: int, chain: Chain, position: Position) -> ClaimResult:
        name = job_id(self.ground.owner, position, "policy")
        result = self.ground.store.run(
            session_calls.claim,
            self.ground.owner,
            incarnation=plan.view.incarnation,
            generation=generation,
            job_id=name,
            position=position,
            new_tokens=max(0, position.count - self._summarised_up_to(plan.view, chain)),
            min_new_tokens=MIN_NEW,
            waits=plan.waits,
            urgency=plan.urgency,
            lease=CLAIM_LEASE,
            state_ttl=STATE_TTL,
        )
        if result.status is ClaimStatus.OWN:
            self.job = self._new_job(plan, generation, name, position, result)
        elif result.stage is ClaimStage.QUEUED and plan.urgency is Urgency.HI:
            self.ground.store.run(fleet_calls.raise_urgency, self.ground.owner)
        return result

    def _summarised_up_to(self, view: SessionView, chain: Chain) -> int:
        kept = (h.position for h in view.headers if not h.withdrawn)
        on = [position.count for position in kept if chain.relation(position) is Relation.ON]
        return max([self.talk.base.count, *on])

    def _new_job(self, plan: Plan, generation: int, name: str, position: Position, own: ClaimResult) -> Job:
        assert own.after is not None
        base = self.talk.summary
        manifest = Manifest(base, self.talk.before(position.count), position)
        return Job(
            job_id=name,
            tenant=self.ground.owner.tenant,
            session_id=self.ground.owner.session_id,
            incarnation=plan.view.incarnation,
            generation=generation,
            epoch=own.epoch,
            after=own.after,
            base_version=base.version if base else 0,
            position=position,
            manifest_id=self.ground.ledger.describe(manifest),
            urgency=plan.urgency,
            remaining_ms=300_000,
        )

    def upload(self) -> None:
        """Put the claimed job's manifest where workers find it."""
        if self.job:
            self.ground.uploads.add(self.job.manifest_id)

    def enqueue(self) -> None:
        """Put the claimed and uploaded job into the index, and send a permit."""
        if self.job is None:
            return
        self.upload()
        result = self.ground.store.run(fleet_calls.enqueue, self.job, ttl=STATE_TTL)
        if result.status in (EnqueueStatus.QUEUED, EnqueueStatus.REPLACED):
            self.ground.permits += 1
            return
        if result.status is EnqueueStatus.REFUSED:
            self.ground.settle(self.job, Outcome.NEUTRAL)
        self.job = None

    def confirm(self) -> None:
        """Tell the session that its job waits in the index."""
        if self.job is None:
            return
        self.ground.store.run(
            session_calls.queued,
            self.ground.owner,
            job_id=self.job.job_id,
            epoch=self.job.epoch,
            lease=QUEUE_LEASE,
        )
        self.job = None
