"""The session scripts in plain Python: what the Lua must answer, and what it must leave behind."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Self, TypeVar

from ebbtide_core import breaker as machine
from ebbtide_core.breaker import Breaker, Outcome
from ebbtide_core.contract.job import After, Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.store.results import (
    CancelResult,
    ClaimResult,
    ClaimStage,
    ClaimStatus,
    ClaimView,
    GuardStatus,
    PublishResult,
    PublishStatus,
    SessionView,
)

if TYPE_CHECKING:
    from ebbtide_core.lineage.chain import Position
    from ebbtide_core.policy import Mode
    from tests.protocol.clock import Clock

V = TypeVar("V")

NOTHING: Final = After(number=0, body="")
REMEMBERED: Final = 16
FORKS_TOLERATED: Final = 3
FORK_WINDOW: Final = 10


@dataclass(slots=True)
class Claim:
    """The compaction that a session has going; free once `until` (seconds) has passed."""

    job_id: str
    generation: int
    epoch: int
    position: Position
    urgency: Urgency
    until: float
    stage: ClaimStage = ClaimStage.CLAIMED
    attempt: int = 0

    def held_by(self, job_id: str, epoch: int) -> bool:
        """Say whether the claim is this job's at this epoch, whatever the attempt."""
        return (self.job_id, self.epoch) == (job_id, epoch)

    def view(self) -> ClaimView:
        """Return what a host sees of the claim."""
        return ClaimView(self.job_id, self.generation, self.epoch, self.position, self.stage, self.urgency)


@dataclass(slots=True)
class State:
    """The session's hash. `hosts`, `ratio`: by host the last turn counted, by model the ratio; latest last.
    `forks`: turns at which one was counted. `refused_until`: the turn at which claims are given again.
    """

    incarnation: str
    generation: int = 0
    newest: After = NOTHING
    headers: list[RecordHeader] = field(default_factory=list)
    claim: Claim | None = None
    breaker: Breaker = field(default_factory=Breaker)
    turns: int = 0
    epoch: int = 0
    hosts: OrderedDict[str, int] = field(default_factory=OrderedDict)
    forks: list[int] = field(default_factory=list)
    refused_until: int = 0
    ratio: OrderedDict[str, float] = field(default_factory=OrderedDict)
    mode: str | None = None

    def copy(self) -> State:
        """Return a state of its own."""
        return replace(
            self,
            headers=list(self.headers),
            claim=replace(self.claim) if self.claim else None,
            hosts=self.hosts.copy(),
            forks=list(self.forks),
            ratio=self.ratio.copy(),
        )


def remember(latest: OrderedDict[str, V], name: str, value: V) -> None:
    """Note a value as the latest; the sixteen latest names are kept."""
    latest[name] = value
    latest.move_to_end(name)
    while len(latest) > REMEMBERED:
        latest.popitem(last=False)


class SessionModel:
    """One session. A method is one script; `clock` is the server's. `records`: stored bytes by version."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.state: State | None = None
        self.records: dict[int, bytes] = {}

    def copy(self) -> Self:
        """Return a session of its own that reads the same clock."""
        session = type(self)(self.clock)
        session.state = self.state.copy() if self.state else None
        session.records = dict(self.records)
        return session

    def turn(
        self,
        *,
        host: str,
        seq: int,
        fresh_incarnation: str,
        model: str,
        ratio: float | None = None,
        state_ttl: float,
        breaker_cooldown: int,
        breaker_cooldown_seconds: float | None = None,
    ) -> SessionView:
        """Create the state when there is none, count the turn once, return everything a host decides by."""
        state = self._created(fresh_incarnation)
        self._count_turn(state, host, seq, breaker_cooldown)
        state.breaker = machine.on_time(state.breaker, self.clock.now, breaker_cooldown_seconds)
        self._free_expired(state)
        if ratio is not None:
            remember(state.ratio, model, ratio)
        return SessionView(
            incarnation=state.incarnation,
            generation=state.generation,
            newest=state.newest,
            turns=state.turns,
            breaker=state.breaker.state,
            split_brain=state.turns < state.refused_until,
            mode=state.mode,
            ratio=state.ratio.get(model),
            claim=state.claim.view() if state.claim else None,
            headers=tuple(state.headers),
        )

    def fork(self, *, incarnation: str, generation: int, state_ttl: float, cooldown: int) -> int | None:
        """Raise the generation that the host saw; the claim ends. None when another one is there."""
        state = self._of(incarnation, generation)
        if state is None:
            return None
        state.generation += 1
        self._end_claim(state)
        recent = [turn for turn in (*state.forks, state.turns) if turn > state.turns - FORK_WINDOW]
        if len(recent) >= FORKS_TOLERATED:
            state.refused_until = state.turns + cooldown
            recent = []
        state.forks = recent
        return state.generation

    def reset(self, *, fresh_incarnation: str, state_ttl: float) -> int:
        """Raise the generation whatever it is; the claim ends."""
        state = self._created(fresh_incarnation)
        state.generation += 1
        self._end_claim(state)
        return state.generation

    def claim(
        self,
        *,
        incarnation: str,
        generation: int,
        job_id: str,
        position: Position,
        new_tokens: int,
        min_new_tokens: int,
        waits: int,
        urgency: Urgency,
        lease: float,
        state_ttl: float,
    ) -> ClaimResult:
        """Give the session's one claim, or say why not; the first reason that holds is the answer."""
        state = self._of(incarnation, generation)
        if state is None:
            return ClaimResult(ClaimStatus.STALE)
        if state.turns < state.refused_until:
            return ClaimResult(ClaimStatus.SPLIT_BRAIN)
        if self._covered(state, position):
            return ClaimResult(ClaimStatus.BEHIND)
        self._free_expired(state)
        if state.claim:
            if urgency is Urgency.HI:
                state.claim.urgency = urgency
            return ClaimResult(ClaimStatus.BUSY, stage=state.claim.stage)
        if waits:
            return ClaimResult(ClaimStatus.READY, version=waits)
        if new_tokens < min_new_tokens:
            return ClaimResult(ClaimStatus.TOO_LITTLE)
        if not machine.allows_claim(state.breaker):
            return ClaimResult(ClaimStatus.BREAKER_OPEN)
        state.epoch += 1
        state.breaker = machine.on_claim(state.breaker, state.epoch)
        until = self.clock.now + lease
        state.claim = Claim(job_id, generation, state.epoch, position, urgency, until)
        return ClaimResult(ClaimStatus.OWN, epoch=state.epoch, after=state.newest)

    def queued(self, *, job_id: str, epoch: int, lease: float) -> bool:
        """Note that the claimed job is in the index."""
        claim = self.state.claim if self.state else None
        if claim is None or not claim.held_by(job_id, epoch) or claim.stage is not ClaimStage.CLAIMED:
            return False
        claim.stage, claim.until = ClaimStage.QUEUED, self.clock.now + lease
        return True

    def requeued(self, *, job_id: str, epoch: int, attempt: int, lease: float) -> bool:
        """Note that the claimed job is in the index again, as its next attempt; a later one's claim stays."""
        state = self.state
        if state is None or state.claim is None or not self._holds(state, job_id, epoch, attempt):
            return False
        state.claim.attempt = attempt + 1
        state.claim.stage, state.claim.until = ClaimStage.QUEUED, self.clock.now + lease
        return True

    def guard(
        self,
        *,
        incarnation: str,
        generation: int,
        job_id: str,
        epoch: int,
        attempt: int,
        after: After,
        lease: float,
    ) -> GuardStatus:
        """Say whether an attempt may start or go on; with GO it holds the claim for another lease."""
        state = self._of(incarnation, generation)
        if state is None:
            return GuardStatus.FENCED
        if state.newest != after:
            return GuardStatus.SUPERSEDED
        claim = state.claim
        if claim is None or not claim.held_by(job_id, epoch) or claim.attempt > attempt:
            return GuardStatus.REPLACED
        claim.stage, claim.attempt, claim.until = ClaimStage.RUNNING, attempt, self.clock.now + lease
        return GuardStatus.GO

    def publish(
        self,
        *,
        record_bytes: bytes,
        header: RecordHeader,
        after: After,
        incarnation: str,
        kept: int,
        state_ttl: float,
    ) -> PublishResult:
        """Number and keep a record if it follows the newest; frees whatever claim there is."""
        state = self._of(incarnation, header.generation)
        if state is None:
            return PublishResult(PublishStatus.FENCED)
        named = After(number=header.version, body=header.body)
        if state.newest == named:
            return PublishResult(PublishStatus.DUPLICATE, header.version)
        if not self._follows(state, after) or self._covered(state, header.position):
            return PublishResult(PublishStatus.SUPERSEDED)
        state.newest = named
        state.headers = [h for h in (*state.headers, header) if h.version > header.version - kept]
        state.claim, state.breaker = None, Breaker()
        self.records[header.version] = record_bytes
        self.records.pop(header.version - kept, None)
        return PublishResult(PublishStatus.PUBLISHED, header.version)

    def settle(
        self,
        *,
        incarnation: str,
        generation: int,
        job_id: str,
        epoch: int,
        attempt: int,
        outcome: Outcome,
        breaker_failures: int,
        state_ttl: float,
    ) -> bool:
        """End the claim with an outcome; the attempt that holds it is heard, or a later one of its job."""
        state = self._of(incarnation, generation)
        if state is None or not self._holds(state, job_id, epoch, attempt):
            return False
        state.claim = None
        state.breaker = machine.on_outcome(state.breaker, outcome, epoch, breaker_failures, self.clock.now)
        return True

    def cancel(self, *, state_ttl: float) -> CancelResult:
        """End whatever claim there is, also one that ran out, and say which."""
        state = self.state
        if state is None or state.claim is None:
            return CancelResult()
        claim = state.claim
        self._end_claim(state)
        return CancelResult(claim.job_id, state.incarnation, claim.generation, claim.epoch, claim.stage)

    def breaker_reset(self) -> bool:
        """Close the breaker; the claim stays."""
        if self.state is None:
            return False
        self.state.breaker = Breaker()
        return True

    def set_mode(self, mode: Mode | None) -> bool:
        """Set how far hosts may go, None for as far as they ask."""
        if self.state is None:
            return False
        self.state.mode = mode.value if mode else None
        return True

    def withdraw(self, version: int) -> bool:
        """Flag a kept record, so that no host takes it any more."""
        headers = self.state.headers if self.state else []
        for index, header in enumerate(headers):
            if header.version == version:
                headers[index] = header.model_copy(update={"withdrawn": True})
                return True
        return False

    def record_get(self, version: int) -> bytes | None:
        """Return a record's bytes, None when it is not kept any more."""
        return self.records.get(version)

    def _created(self, incarnation: str) -> State:
        if self.state is None:
            self.state = State(incarnation)
        return self.state

    def _of(self, incarnation: str, generation: int) -> State | None:
        """Return the state when it is of this incarnation and generation."""
        state = self.state
        if state is None or (state.incarnation, state.generation) != (incarnation, generation):
            return None
        return state

    def _count_turn(self, state: State, host: str, seq: int, cooldown: int) -> None:
        last = state.hosts.get(host)
        remember(state.hosts, host, seq if last is None else max(last, seq))
        if last is None or seq > last:
            state.turns += 1
            state.breaker = machine.on_turn(state.breaker, cooldown)

    def _end_claim(self, state: State) -> None:
        if state.claim:
            state.breaker = machine.on_claim_end(state.breaker, state.claim.epoch)
        state.claim = None

    def _free_expired(self, state: State) -> None:
        if state.claim and state.claim.until < self.clock.now:
            self._end_claim(state)

    def _covered(self, state: State, position: Position) -> bool:
        """Say whether a kept record of the generation stands at the position or beyond."""
        return any(
            h.generation == state.generation and h.position.count >= position.count for h in state.headers
        )

    def _follows(self, state: State, after: After) -> bool:
        return state.newest == after

    def _holds(self, state: State, job_id: str, epoch: int, attempt: int) -> bool:
        claim = state.claim
        return claim is not None and claim.held_by(job_id, epoch) and claim.attempt <= attempt
