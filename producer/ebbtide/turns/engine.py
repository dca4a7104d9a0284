"""One turn: measure, one store round trip, decide, apply.

Sans-I/O: sync and async shells run the same generator.
"""

from __future__ import annotations

from typing import Final

from ebbtide.turn import Report, Turn
from ebbtide.turns.batch import Batch, next_batch
from ebbtide.turns.course import Course
from ebbtide.turns.effects import Effects, Hand, Learn, Now, Pause
from ebbtide.turns.memory import Memory
from ebbtide.turns.order import Order
from ebbtide.turns.reporting import notice
from ebbtide.turns.request import Request
from ebbtide.turns.sending import Sent, holds, sent
from ebbtide.turns.swapper import Swapper
from ebbtide.turns.talk import Talk
from ebbtide_core.breaker import BreakerState
from ebbtide_core.budget.measure import scaled
from ebbtide_core.contract.job import Urgency
from ebbtide_core.decide import Action, Decision, Reason, Situation, decide
from ebbtide_core.errors import UnfittableRequest
from ebbtide_core.policy import Mode
from ebbtide_core.store.results import ClaimStatus

FIRST_POLL: Final = 0.02
LONGEST_POLL: Final = 0.25
"""Seconds between polls at hard."""

_HOPELESS: Final = frozenset(
    {ClaimStatus.BREAKER_OPEN, ClaimStatus.PROVIDER_DOWN, ClaimStatus.TOO_LITTLE, ClaimStatus.SPLIT_BRAIN}
)


class TurnEngine:
    """Carries one turn from measure to report."""

    def __init__(self, memory: Memory, request: Request) -> None:
        self.memory = memory
        self.request = request
        self.limits = request.limits
        self.waited = self.noted = 0.0
        self.ordered = self.handed = False
        self.course: Course
        self.talk: Talk
        self.swapper: Swapper
        self._batch: tuple[object, Batch | None] = (None, None)

    def run(self) -> Effects[Turn]:
        """Return the turn.

        Raises InputError or LimitError before anything is done, UnfittableRequest at the end.
        """
        began = yield Now()
        self.course = course = Course.begun(self.memory, self.request, began)
        self.talk = Talk(course)
        self.swapper = Swapper(course, self.talk)
        if self.request.mode is not Mode.OFF:
            yield from self.talk.consult()
        if course.mode is Mode.ON:
            self.swapper.again()
        else:
            course.leave_nothing_out()
        decision = yield from self._decided()
        if decision.claim:
            yield from self._order(decision)
        if decision.action is Action.WAIT:
            decision = yield from self._wait(decision)
            if decision.claim and course.swapped:
                yield from self._order(decision)
        return (yield from self._finish(decision))

    def _decided(self, waited: bool = False) -> Effects[Decision]:
        """Decide, swap and prune until something else is to be done."""
        course = self.course
        while True:
            if course.mode is Mode.ON and course.at.total >= self.limits.soft:
                yield from self.swapper.look()
            decision = decide(self._situation(waited))
            if decision.action is Action.SWAP:
                yield from self.swapper.swap()
            elif decision.action is Action.PRUNE:
                self._prune()
            else:
                return decision

    def _situation(self, waited: bool) -> Situation:
        course, limits = self.course, self.limits
        state, at = course.state, course.at
        wanted = at.total >= limits.soft or self.request.by_hand is not None
        pending = state is not None and (course.claim is not None or self.memory.mailbox.busy)
        candidate = self.swapper.candidate if wanted else None
        due = candidate is not None and self.swapper.due(candidate)
        later = candidate is not None and not due and course.mode is Mode.ON and at.total < limits.hard
        short = candidate is not None and self.swapper.short(candidate)
        # A record to swap in, or a job under way below hard, is all that counts: a cut is dear to find.
        settled = (candidate is not None and not later and not short) or (pending and at.total < limits.hard)
        return Situation(
            projected=at.total,
            soft=limits.soft,
            hard=limits.hard,
            mode=course.mode,
            breaker=state.breaker if state else BreakerState.CLOSED,
            ready=candidate is not None,
            due=due,
            short=short,
            pruned_to=None if settled or later else self._pruned_to(),
            cuttable=settled or at.cut is not None,
            enough_new=settled or at.new_tokens(state) >= at.least_new,
            pending=pending,
            store=state is not None,
            split_brain=state.split_brain if state else False,
            blocked=course.tenant.block is not None,
            refused=self.memory.mailbox.refused(course.now),
            waited=waited or self._patience <= 0,
            swapped=course.swapped,
            declined=course.declined,
            by_hand=self.request.by_hand is not None,
        )

    def _next_batch(self) -> Batch | None:
        """The superseded results that could be left out now, worked out once for each buffer of the turn."""
        if self._batch[0] is not self.course.at:
            self._batch = (self.course.at, next_batch(self.memory, self.course.at))
        return self._batch[1]

    def _pruned_to(self) -> int | None:
        course = self.course
        if course.mode is not Mode.ON or course.pruned or course.at.total < self.limits.soft:
            return None
        batch = self._next_batch()
        return batch.total if batch else None

    def _prune(self) -> None:
        batch = self._next_batch()
        self.course.pruned = True
        if batch is not None:
            self.memory.pruning.add(self.course.at.sizes, batch.gone)
            self.course.at = self.course.measured(self.course.at.sizes)

    def _order(self, decision: Decision) -> Effects[None]:
        course, memory = self.course, self.memory
        state, claim, at = course.state, course.claim, course.at
        urgency = Urgency.HI if decision.urgent else Urgency.LO
        if state is None or memory.mailbox.busy:
            return
        if claim is not None and (urgency is Urgency.LO or claim.urgency is Urgency.HI):
            return
        cut = at.cut
        if cut is None:
            return
        self.ordered = True
        self.handed = yield Hand(
            Order(
                owner=memory.owner,
                incarnation=state.incarnation,
                generation=state.generation,
                buffer=at.buffer,
                cut=cut,
                figures=at.figures(cut),
                policy=memory.policy,
                model=memory.model,
                counts=at.sizes.each(),
                urgency=urgency,
                new_tokens=at.new_tokens(state),
                min_new_tokens=at.least_new,
                waits=at.waiting_version(state) if course.mode is Mode.SHADOW else 0,
                instructions=self.request.by_hand.instructions if self.request.by_hand else "",
            )
        )

    def _wait(self, decision: Decision) -> Effects[Decision]:
        """Poll for a record until the wait budget is spent or none can come; then decide again.

        The budget is that of one claim: turns that come while it goes on don't wait for it again. An order
        that could not be handed over, since the last turn's was still under way, is as soon as that is done.
        A refused job, or a tenant that is blocked meanwhile, ends the wait.
        """
        course = self.course
        began = yield from self._looked()
        patience, delay, settled = self._patience, FIRST_POLL, False
        while not course.swapped:
            self.waited = (yield from self._looked()) - began
            left = patience - self.waited
            if left <= 0 or (settled and self._hopeless()):
                break
            yield Pause(min(delay, left))
            delay = min(LONGEST_POLL, delay * 1.5)
            self.waited = (yield from self._looked()) - began
            course.io, course.tenant = 0.0, (yield Learn())
            # Asked before the state is, which then shows what was done.
            settled = not self.memory.mailbox.busy
            yield from self.talk.refresh()
            if course.state is None:
                break
            self._note_wait()  # at once: a host may end a turn that waits
            yield from self._swap_what_suffices()
            if course.tenant.block is not None or self.memory.mailbox.refused(course.now):
                break
            if settled and not (self.ordered or course.swapped):
                yield from self._order(decision)
                settled = not self.ordered
        self._note_wait()
        return (yield from self._decided(waited=True))

    def _note_wait(self) -> None:
        """Note what was waited for the claim so far."""
        name = self.course.claim_name
        if name is not None:
            self.memory.waited(name, self.waited - self.noted)
            self.noted = self.waited

    def _swap_what_suffices(self) -> Effects[None]:
        """Swap the record that came, unless it leaves the request at hard: a farther one may come yet."""
        while (candidate := self.swapper.candidate) is not None:
            yield from self.swapper.look()
            if self.swapper.candidate is candidate:
                if self.swapper.short(candidate):
                    return
                yield from self.swapper.swap()

    def _looked(self) -> Effects[float]:
        """Look at the clock."""
        self.course.now = yield Now()
        return self.course.now

    @property
    def _patience(self) -> float:
        """Seconds that this turn may wait for a record."""
        if self.request.by_hand is not None:
            return self.request.by_hand.timeout
        return self.memory.patience(self.course.claim_name)

    def _hopeless(self) -> bool:
        """No record can come this turn: the claim was refused, or the work ended without one."""
        mailbox = self.memory.mailbox
        if mailbox.busy:
            return False
        if self.handed and mailbox.claim in _HOPELESS:
            return True
        return self.course.state is None or self.course.claim is None

    def _finish(self, decision: Decision) -> Effects[Turn]:
        course, memory = self.course, self.memory
        degraded = decision.action is Action.DEGRADE
        if degraded and not course.pruned and not holds(memory, course.at):
            self._prune()
        out = sent(memory, course.at, degraded)
        if not out.fits and course.swapped:
            # What can't be sent changes nothing: the record is for a turn that can.
            course.take_back()
            out = sent(memory, course.at, degraded)
        now = yield from self._looked()
        turn = self._turn(decision, out, now - course.began)
        memory.pace.note(memory.seq, now, course.swapped)
        memory.close_turn(course.applied, max(0, course.at.counted(out.view) - out.saved))
        if not out.fits and turn.report.sent > self.limits.window:
            raise UnfittableRequest(
                projected=course.at.total, limit=self.limits.window, smallest=turn.report.sent, turn=turn
            )
        return turn

    def _turn(self, decision: Decision, out: Sent, elapsed: float) -> Turn:
        course, mailbox = self.course, self.memory.mailbox
        state, at, view = course.state, course.at, out.view
        swapped = course.applied.swapped if course.applied else None
        saved = scaled(out.saved, at.ratio)
        size = at.projection.outside + view.tokens if view else at.total
        action, reason = self._outcome(decision)
        refused = mailbox.refusal(course.now)
        why = {Reason.REFUSED: refused, Reason.PROVIDER_DOWN: course.tenant.block}.get(reason)
        report = Report(
            turn=state.turns if state else self.memory.seq,
            action=action,
            reason=reason,
            projected=course.projected,
            sent=max(at.projection.outside, size - saved),
            exact=at.projection.exact,
            context_window=self.limits.window,
            soft=self.limits.soft,
            hard=self.limits.hard,
            degraded=view is not None,
            rung=view.rung if view else None,
            omitted=view.omitted if view else (),
            superseded=at.pruned.spans,
            thinking=out.thinking,
            version=at.buffer.summary.version if at.buffer.summary else 0,
            enough=swapped is None or at.total - saved < self.limits.soft,
            claim=mailbox.claim.value if mailbox.claim else "",
            refused=refused,
            block=course.tenant.block,
            faults=(*mailbox.faults(), *course.faults),
            issues=at.buffer.issues,
            waited=self.waited,
            elapsed=elapsed,
            notice=notice(action, view, swapped, why),
        )
        return Turn(out.messages, at.buffer.messages, report, swapped, out.cache_hint)

    def _outcome(self, decision: Decision) -> tuple[Action, Reason]:
        """A new swap is what the turn did unless it had to degrade as well; a batch, or the last swap put in
        again, unless anything else was."""
        course = self.course
        if decision.action is Action.DEGRADE:
            return decision.action, decision.reason
        if course.swapped:
            return Action.SWAP, Reason.BY_HAND if self.request.by_hand else Reason.RECORD_READY
        if decision.action is not Action.KEEP:
            return decision.action, decision.reason
        if course.pruned:
            return Action.PRUNE, Reason.SUPERSEDED
        if course.applied is not None:
            return Action.SWAP, Reason.REAPPLIED
        return decision.action, decision.reason
