"""One turn: measure, one store round trip, decide, apply.

Sans-I/O: sync and async shells run the same generator.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

from ebbtide.effects import Ask, Effects, Hand, Now, Pause
from ebbtide.memory import Applied, Memory, outer_copy
from ebbtide.order import Order
from ebbtide.reporting import notice, sent_messages
from ebbtide.request import Request
from ebbtide.standing import Standing
from ebbtide.turn import Report, Swapped, Turn
from ebbtide_core import swap as swapping
from ebbtide_core.breaker import BreakerState
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.manifest import PROGRESS
from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.decide import Action, Decision, Reason, Situation, decide
from ebbtide_core.errors import ContractError, EbbtideError, NotApplicable, UnfittableRequest
from ebbtide_core.jsonio import unpack
from ebbtide_core.lineage.buffer import read
from ebbtide_core.lineage.chain import Relation
from ebbtide_core.policy import Mode, most_cautious
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.results import ClaimStatus, ClaimView, SessionView
from ebbtide_core.views.ladder import degrade
from ebbtide_core.views.view import View

IO_SHARE: Final = 0.4
FIRST_POLL: Final = 0.02
LONGEST_POLL: Final = 0.25
"""No store call begins after 40 % of the I/O budget; seconds between polls at hard."""

_HOPELESS: Final = frozenset(
    {ClaimStatus.BREAKER_OPEN, ClaimStatus.PROVIDER_DOWN, ClaimStatus.TOO_LITTLE, ClaimStatus.SPLIT_BRAIN}
)


class TurnEngine:
    """Carries one turn from measure to report."""

    def __init__(self, memory: Memory, request: Request) -> None:
        self.memory = memory
        self.request = request
        self.limits = request.limits
        self.at: Standing
        self.projected = 0
        self.state: SessionView | None = None
        self.applied: Applied | None = None
        self.enough = True
        self.faults: list[str] = []
        self.started = 0.0
        self.waited = 0.0
        self.io = 0.0
        self.handed = False

    def run(self) -> Effects[Turn]:
        """Return the turn.

        Raises InputError or LimitError before anything is done, UnfittableRequest at the end.
        """
        self.started = yield Now()
        self.at = self._measured(self.memory.read(self.request.messages))
        self.projected = self.at.total
        if self.request.mode is not Mode.OFF:
            yield from self._consult()
        if self.mode is Mode.ON and self.at.total >= self.limits.soft:
            yield from self._swap_if_ready()
        decision = decide(self._situation())
        if decision.claim:
            yield from self._order(decision)
        if decision.action is Action.WAIT:
            decision = yield from self._wait()
            if decision.claim and self.swapped is not None:
                yield from self._order(decision)
        return (yield from self._finish(decision))

    def _measured(self, sizes: Sizes) -> Standing:
        request = self.request
        return Standing(sizes.buffer, request.parts, request.limits, sizes, self.memory.tokens_ratio)

    @property
    def swapped(self) -> Swapped | None:
        """The swap of this turn."""
        return self.applied.swapped if self.applied else None

    @property
    def mode(self) -> Mode:
        """The most cautious of the modes that pool, policy and state ask for."""
        asked = self.state.mode if self.state is not None else None
        if asked is None:
            return self.request.mode
        known = asked in Mode.__members__.values()
        return most_cautious(self.request.mode, Mode(asked) if known else Mode.OFF)

    def _ask(self, call: Any) -> Effects[Any]:
        """Run a call within the I/O budget; None when the store is not to be asked, or did not answer."""
        if not self.request.store_open or self.io > IO_SHARE * self.memory.policy.io_budget:
            return None
        began = yield Now()
        reply = yield Ask(call)
        self.io += (yield Now()) - began
        if isinstance(reply, EbbtideError):
            self.faults.append(f"store: {reply}")
            self.request = replace(self.request, store_open=False)
            return None
        return reply

    def _consult(self) -> Effects[None]:
        memory = self.memory
        memory.seq += 1
        yield from self._refresh()
        if self.state is None:
            return
        if self.state.ratio is not None:
            memory.ratio = self.state.ratio
        if self._forked(self.state) or self._rewound(self.state):
            yield from self._fork(self.state)

    def _refresh(self) -> Effects[None]:
        """Take the session's state; asking again with the same number doesn't count the turn again."""
        memory = self.memory
        self.state = yield from self._ask(
            session_calls.turn(
                memory.owner,
                host=memory.host,
                seq=memory.seq,
                fresh_incarnation=self.request.fresh,
                model=memory.model,
                ratio=memory.observed,
                state_ttl=memory.policy.state_ttl,
                breaker_cooldown=memory.policy.breaker_cooldown,
            )
        )
        if self.state is not None:
            memory.state = self.state

    def _forked(self, state: SessionView) -> bool:
        """A position of the present generation contradicts the host's chain."""
        return any(self.at.buffer.chain.relation(p) is Relation.CONTRADICTS for p in _positions(state))

    def _rewound(self, state: SessionView) -> bool:
        """The host is behind such a position, and has come to where it would claim."""
        behind = any(self.at.buffer.chain.relation(p) is Relation.AHEAD for p in _positions(state))
        return behind and self.at.cut is not None

    def _fork(self, state: SessionView) -> Effects[None]:
        generation = yield from self._ask(
            session_calls.fork(
                self.memory.owner,
                incarnation=state.incarnation,
                generation=state.generation,
                state_ttl=self.memory.policy.state_ttl,
                cooldown=self.memory.policy.breaker_cooldown,
            )
        )
        yield from self._refresh()
        if generation is None and self.state is not None:
            self.faults.append("fork: another host was faster")

    def _swap_if_ready(self) -> Effects[bool]:
        if self.state is None:
            return False
        for header in swapping.usable(self.state.headers, self.at.buffer):
            record = yield from self._fetch(header)
            if record is not None and self._swap(record):
                return True
        return False

    def _fetch(self, header: RecordHeader) -> Effects[SummaryRecord | None]:
        known = self.memory.record(header)
        if known is not None:
            return known
        data = yield from self._ask(blob_calls.record_get(self.memory.owner, header.version))
        if data is None:
            return None
        try:
            record = SummaryRecord.from_json(unpack(data))
        except ContractError as error:
            self.faults.append(f"record {header.version}: {error}")
            return None
        if record.body != header.body or not record.body_fits():
            self.faults.append(f"record {header.version}: not the body that the state names")
            return None
        self.memory.remember(record)
        return record

    def _swap(self, record: SummaryRecord) -> bool:
        """Swap the record in, unless it would not make the request at least a tenth smaller."""
        done = self.memory.again(record, self.at.buffer) or self._apply(record)
        if done is None:
            return False
        after = self._measured(done.sizes)
        if after.total > PROGRESS * self.at.total:
            return False
        self.at = after
        self.enough = after.total < self.limits.soft
        self.applied = done
        return True

    def _apply(self, record: SummaryRecord) -> Applied | None:
        """Return the buffer with the record swapped in, None when that can't be done.

        All messages are read anew before: one that was changed in place since must not vanish behind a
        summary.
        """
        memory, buffer = self.memory, self.at.buffer
        fresh = read(buffer.passed, memory.dialect)
        if fresh.entries != buffer.entries:
            sizes = Sizes(memory.meter, fresh)
            memory.reread(sizes)
            self.at = self._measured(sizes)
        if fresh.chain != buffer.chain:
            self.faults.append("buffer: a message was changed in place after it was read")
            return None
        try:
            done = swapping.apply(record, fresh)
        except NotApplicable as error:
            self.faults.append(f"record {record.version}: {error}")
            return None
        swapped = Swapped(
            done.version, done.position, done.summary_message, done.carried, len(done.removed), record
        )
        sizes = Sizes(memory.meter, read(done.messages, memory.dialect))
        covered = fresh.passed[: max(done.removed, default=-1) + 1]
        return Applied(
            swapped, self.at.buffer, sizes, deepcopy(done.summary_message), tuple(map(outer_copy, covered))
        )

    def _situation(self, waited: bool = False) -> Situation:
        state, at = self.state, self.at
        pending = state is not None and (self._claim is not None or self.memory.mailbox.busy)
        # Below hard a compaction under way is all that counts, and looking for a cut is dear.
        idle = pending and at.total < self.limits.hard
        return Situation(
            projected=at.total,
            soft=self.limits.soft,
            hard=self.limits.hard,
            mode=self.mode,
            breaker=state.breaker if state else BreakerState.CLOSED,
            ready=self.mode is Mode.SHADOW and bool(at.waiting_version(state)),
            cuttable=idle or at.cut is not None,
            enough_new=idle or at.new_tokens(state) >= at.least_new,
            pending=pending,
            store=state is not None,
            split_brain=state.split_brain if state else False,
            waited=waited or self._patience <= 0,
            swapped=self.swapped is not None,
        )

    @property
    def _claim(self) -> ClaimView | None:
        """The session's claim, unless it is this host's own and could not be turned into a job."""
        claim = self.state.claim if self.state else None
        held = self.memory.mailbox.held
        lost = claim is not None and held is not None and claim.epoch == held.epoch
        return None if lost and not self.memory.mailbox.busy else claim

    def _order(self, decision: Decision) -> Effects[None]:
        state, claim = self.state, self._claim
        urgency = Urgency.HI if decision.urgent else Urgency.LO
        if state is None or self.memory.mailbox.busy:
            return
        if claim is not None and (urgency is Urgency.LO or claim.urgency is Urgency.HI):
            return
        cut = self.at.cut
        if cut is None:
            return
        self.handed = yield Hand(
            Order(
                owner=self.memory.owner,
                incarnation=state.incarnation,
                generation=state.generation,
                buffer=self.at.buffer,
                cut=cut,
                figures=self.at.figures(cut),
                policy=self.memory.policy,
                model=self.memory.model,
                counts=self.at.sizes.each(),
                urgency=urgency,
                new_tokens=self.at.new_tokens(state),
                min_new_tokens=self.at.least_new,
                waits=self.at.waiting_version(state) if self.mode is Mode.SHADOW else 0,
            )
        )

    def _wait(self) -> Effects[Decision]:
        """Poll for a record until the wait budget is spent or none can come; then decide again.

        The budget is that of one claim: turns that come while it goes on don't wait for it again.
        """
        began = yield Now()
        patience = self._patience
        delay = FIRST_POLL
        settled = False
        while self.at.total >= self.limits.hard:
            now = yield Now()
            self.waited = now - began
            left = patience - self.waited
            if left <= 0 or (settled and self._hopeless()):
                break
            yield Pause(min(delay, left))
            delay = min(LONGEST_POLL, delay * 1.5)
            self.waited = (yield Now()) - began
            self.io = 0.0
            # Asked before the state is, which then shows what was done.
            settled = not self.memory.mailbox.busy
            yield from self._refresh()
            if self.state is None or (yield from self._swap_if_ready()):
                break
        if self._claim is not None:
            self.memory.waited(self._claim.epoch, self.waited)
        return decide(self._situation(waited=True))

    @property
    def _patience(self) -> float:
        """Seconds that this turn may wait for a record."""
        claim = self._claim
        return self.memory.patience(claim.epoch if claim else 0)

    def _hopeless(self) -> bool:
        """No record can come this turn: the claim was refused, or the work ended without one."""
        mailbox = self.memory.mailbox
        if mailbox.busy:
            return False
        if self.handed and mailbox.claim in _HOPELESS:
            return True
        return self.state is None or self._claim is None

    def _finish(self, decision: Decision) -> Effects[Turn]:
        view, fits = None, True
        if decision.action is Action.DEGRADE:
            chosen = degrade(self.at.ground(), self.at.cut)
            view, fits = chosen.view, chosen.fits
        elapsed = (yield Now()) - self.started
        turn = self._turn(decision, view, elapsed)
        self.memory.close_turn(self.applied, self.at.counted(view))
        if not fits:
            raise UnfittableRequest(
                projected=self.at.total, limit=self.limits.window, smallest=turn.report.sent, turn=turn
            )
        return turn

    def _turn(self, decision: Decision, view: View | None, elapsed: float) -> Turn:
        action, reason = self._outcome(decision, view)
        mailbox, state, at = self.memory.mailbox, self.state, self.at
        report = Report(
            turn=state.turns if state else self.memory.seq,
            action=action,
            reason=reason,
            projected=self.projected,
            sent=at.projection.outside + view.tokens if view else at.total,
            exact=at.projection.exact,
            context_window=self.limits.window,
            soft=self.limits.soft,
            hard=self.limits.hard,
            degraded=view is not None,
            rung=view.rung if view else None,
            omitted=view.omitted if view else (),
            version=at.buffer.summary.version if at.buffer.summary else 0,
            enough=self.enough,
            claim=mailbox.claim.value if mailbox.claim else "",
            faults=(*mailbox.faults(), *self.faults),
            issues=at.buffer.issues,
            waited=self.waited,
            elapsed=elapsed,
            notice=notice(action, view, self.swapped),
        )
        return Turn(sent_messages(at.buffer, view), at.buffer.messages, report, self.swapped)

    def _outcome(self, decision: Decision, view: View | None) -> tuple[Action, Reason]:
        """A swap is what the turn did unless it had to degrade as well."""
        if view is not None or self.swapped is None:
            return decision.action, decision.reason
        last = self.memory.applied
        again = last is not None and last.of(self.swapped.record)
        return Action.SWAP, Reason.REAPPLIED if again else Reason.RECORD_READY


def _positions(state: SessionView) -> list[Any]:
    """The positions that must not contradict the host: of the claim and of records of the present
    generation."""
    records = [h.position for h in state.headers if h.generation == state.generation]
    claim = state.claim
    return [*records, claim.position] if claim and claim.generation == state.generation else records
