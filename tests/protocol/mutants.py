"""Wrong implementations, each with one seeded fault. A checker that lets its fault pass checks nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import After
from ebbtide_core.lineage.chain import Relation
from ebbtide_core.store.results import GuardStatus
from tests.protocol.hosts import Host
from tests.protocol.model_fleet import FleetModel
from tests.protocol.model_session import SessionModel, State
from tests.protocol.stores import ModelStore
from tests.protocol.workers import Run, Worker

if TYPE_CHECKING:
    from ebbtide_core.contract.job import Job
    from ebbtide_core.contract.record import RecordHeader
    from ebbtide_core.contract.tenant import Refusal
    from ebbtide_core.lineage.chain import Chain, Position
    from ebbtide_core.names import Owner
    from ebbtide_core.store.fleet_calls import Paid
    from ebbtide_core.store.results import ClaimResult, PublishResult, PublishStatus, SessionView
    from tests.protocol.conversation import Message
    from tests.protocol.model_index import Attempt, Ready, Running
    from tests.protocol.model_limits import Bill


class PublishesAfterAnything(SessionModel):
    """Publishes whatever the newest record is."""

    def _follows(self, state: State, after: After) -> bool:
        return True


class PublishesAfterNumber(SessionModel):
    """Compares the newest record's number, not its body."""

    def _follows(self, state: State, after: After) -> bool:
        return state.newest.number == after.number


class PublishesBehind(SessionModel):
    """Never asks whether a record of the generation stands at the position or beyond."""

    def _covered(self, state: State, position: Position) -> bool:
        return False


class RefusesLoudly(SessionModel):
    """Ends the claim when it refuses a record."""

    def publish(self, **given: Any) -> PublishResult:
        result = super().publish(**given)
        if self.state:
            self.state.claim = None
        return result


class HearsAnyone(SessionModel):
    """Settles a job's claim for any attempt of it."""

    def _holds(self, state: State, job_id: str, epoch: int, attempt: int) -> bool:
        return state.claim is not None and state.claim.job_id == job_id


class RestartsEpochs(SessionModel):
    """Counts epochs from one again at each claim."""

    def claim(self, **given: Any) -> ClaimResult:
        if self.state and not (self.state.claim and self.state.claim.until >= self.clock.now):
            self.state.epoch = 0
        return super().claim(**given)


class NeverHalfOpen(SessionModel):
    """Counts no turns while the breaker is open."""

    def turn(self, **given: Any) -> SessionView:
        return super().turn(**{**given, "breaker_cooldown": 10**9})


class ClaimsForEver(SessionModel):
    """Never frees a claim that ran out."""

    def _free_expired(self, state: State) -> None:
        return


class KeepsProbe(SessionModel):
    """Lets the breaker's probe stand when its claim ends."""

    def _end_claim(self, state: State) -> None:
        state.claim = None


class EditsRecords(SessionModel):
    """Changes a published record when it withdraws it."""

    def withdraw(self, version: int) -> bool:
        done = super().withdraw(version)
        if self.state and done:
            self.state.headers = [
                h.model_copy(update={"generation": h.generation + 1}) for h in self.state.headers
            ]
        return done


class ServesInOrder(FleetModel):
    """Forgets which session was served when."""

    def _rank(self, member: str) -> tuple[bool, int, int]:
        low, _, order = super()._rank(member)
        return low, 0, order


class KeepsItsTurn(FleetModel):
    """Serves a tenant for as long as it has jobs."""

    def _go_on_with_turn(self, tenant: str, credit: int, serial: int) -> None:
        return


class SavesItsTurn(FleetModel):
    """Keeps for later what a tenant without further jobs did not take of its turn."""

    def _pull(self, member: str) -> Job:
        credit = dict(self.index.credit)
        job = super()._pull(member)
        self.index.credit = credit
        return job


class IgnoresWeights(FleetModel):
    """Gives each tenant one job a turn."""

    def _credit(self, tenant: str) -> int:
        return 1


class IgnoresCaps(FleetModel):
    """Lets a tenant have any number of attempts running."""

    def _has_room(self, tenant: str, cap: int | None) -> bool:
        return True


class AdmitsAnything(FleetModel):
    """Never refuses a job."""

    def _refusal(self, tenant: str, *, replaces: bool) -> Refusal | None:
        return None


class RefusesReplacements(FleetModel):
    """Counts a job that takes the place of its session's own."""

    def _refusal(self, tenant: str, *, replaces: bool) -> Refusal | None:
        return super()._refusal(tenant, replaces=False)


class CountsOnlyTheLiving(FleetModel):
    """Forgets what was paid for an attempt that lost its lease."""

    def _pay(self, attempt: Attempt, paid: Paid) -> None:
        if attempt in self.index.running:
            super()._pay(attempt, paid)


class CountsForEver(FleetModel):
    """Adds to what was paid on another day."""

    def _bill(self, tenant: str) -> Bill:
        return self.index.bills.get(tenant) or super()._bill(tenant)


class HandsBackBehind(FleetModel):
    """Puts a job that is handed back behind those that came later."""

    def _handed_back(self, running: Running) -> Ready:
        return replace(super()._handed_back(running), order=self._next_serial())


class KeepsTheTurnTaken(FleetModel):
    """Counts a job that is handed back as one that its tenant was served."""

    def _give_turn_back(self, tenant: str, turn: int) -> None:
        return


class CountsHandedBack(FleetModel):
    """Counts a run that is handed back as a lost lease."""

    def _handed_back(self, running: Running) -> Ready:
        return replace(super()._handed_back(running), handed=0)


class KeepsAttemptNumber(FleetModel):
    """Lets a job that is handed back go on under its attempt's number."""

    def _handed_back(self, running: Running) -> Ready:
        return replace(super()._handed_back(running), job=running.job)


class BuriesWithoutStone(FleetModel):
    """Writes no dead letter."""

    def _buried(self, job: Job) -> Job:
        return job


class JoinsNames(ModelStore):
    """Names a session by tenant and id with a colon between."""

    def session(self, owner: Owner) -> SessionModel:
        named = {f"{o.tenant}:{o.session_id}": s for o, s in self.sessions.items()}
        known = named.get(f"{owner.tenant}:{owner.session_id}")
        return known or super().session(owner)


class SwapsTooMuch(Host):
    """Takes the first message after the position along with the swap."""

    def swap_best(self, view: SessionView, chain: Chain, *, swaps: bool) -> int:
        before = self.swaps
        waits = super().swap_best(view, chain, swaps=swaps)
        if self.swaps > before:
            del self.talk.tail[0]
        return waits


class SwapsByCount(Host):
    """Takes any record that is no longer than the chain, whatever its digest."""

    def contradicted(self, view: SessionView, chain: Chain) -> bool:
        return False

    def applicable(self, view: SessionView, chain: Chain) -> list[RecordHeader]:
        return [h for h in view.headers if chain.relation(h.position) is not Relation.AHEAD]


class LooksAtNewest(Host):
    """Considers the newest record only."""

    def applicable(self, view: SessionView, chain: Chain) -> list[RecordHeader]:
        return [h for h in super().applicable(view, chain) if h.version == view.newest.number]


class ForksOnOldRecords(Host):
    """Takes records of earlier generations for contradictions."""

    def present_positions(self, view: SessionView) -> list[Position]:
        return super().present_positions(view) + [h.position for h in view.headers]


class NeverForksBehind(Host):
    """Waits for its chain to grow when it is shorter than a record's position."""

    def claim(self) -> ClaimResult | None:
        if self.plan and self.is_behind(self.plan.view, self.talk.chain()):
            return None
        return super().claim()


class WaitsForLostBody(Host):
    """Lets a record wait that it can't read."""

    def swap_best(self, view: SessionView, chain: Chain, *, swaps: bool) -> int:
        waits = super().swap_best(view, chain, swaps=swaps)
        found = self.applicable(view, chain)
        return waits or (found[0].version if found else 0)


class FollowsItsBase(Host):
    """Publishes after the version that its buffer builds on."""

    def claim(self) -> ClaimResult | None:
        result = super().claim()
        if self.job:
            base = self.talk.summary
            after = After(number=base.version if base else 0, body=base.body if base else "")
            self.job = self.job.model_copy(update={"after": after})
        return result


class DropsLastChunk(Worker):
    """Leaves the last chunk out of a job of several."""

    def plan(self, run: Run) -> list[tuple[Message, ...]]:
        chunks = super().plan(run)
        return chunks[:-1] or chunks


class NeverAsksAgain(Worker):
    """Asks the session at the start only."""

    def asks(self, run: Run) -> GuardStatus:
        return GuardStatus.GO if run.guarded else super().asks(run)


class KeepsBadMemos(Worker):
    """Leaves the memos of a summary that failed validation."""

    def forget_memos(self, run: Run) -> None:
        return


class NeedsBaseRecord(Worker):
    """Reads the base from the store instead of the manifest."""

    def finish(self, publications: Any, outcome: Outcome) -> PublishStatus | None:
        if self.run and self._base_is_gone(self.run):
            outcome = Outcome.NEUTRAL
        return super().finish(publications, outcome)

    def _base_is_gone(self, run: Run) -> bool:
        base = self.ground.ledger.manifests[run.job.manifest_id].base
        return base is not None and all(s.body != base.body for s in self.ground.kept_summaries())
