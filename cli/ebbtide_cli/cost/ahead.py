"""Ebbtide's own way: a record asked for at soft, made beside the session, swapped in when it is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ebbtide_cli.cost.counted import Held
from ebbtide_cli.cost.strategy import Ground
from ebbtide_core.breaker import BreakerState
from ebbtide_core.budget.boundary import Cut, behind, boundary, newly_summarised
from ebbtide_core.contract.manifest import least_new, progressed
from ebbtide_core.contract.record import SummariserName, SummaryRecord, body_digest
from ebbtide_core.decide import Action, Situation, decide
from ebbtide_core.economy.timing import Chance, rested
from ebbtide_core.errors import NotApplicable
from ebbtide_core.lineage.buffer import Buffer, empty, read
from ebbtide_core.policy import Limits, Mode, Policy, limits
from ebbtide_core.summary.message import render
from ebbtide_core.swap import applies, apply

Due = Callable[[Chance], bool]
"""Says whether a record that is ready is swapped in now."""

_NOBODY: Final = SummariserName(name="cost", fingerprint="")


def at_once(chance: Chance) -> bool:
    """Swap every record in as soon as it is there."""
    return True


@dataclass(frozen=True)
class Standing:
    """A buffer at a turn: its messages, how they read, and what else the request holds, in tokens."""

    held: list[Held]
    buffer: Buffer
    limits: Limits
    outside: int

    @cached_property
    def total(self) -> int:
        """The projected size of the request."""
        return self.outside + sum(h.tokens for h in self.held)

    @cached_property
    def cut(self) -> Cut | None:
        """Where a compaction would cut now."""
        return boundary(self.buffer, [h.tokens for h in self.held], self.limits, self.outside)

    def source(self, since: int) -> list[Held]:
        """Return what a compaction would summarise of the lineage from a count on."""
        if self.cut is None:
            return []
        return [self.held[i] for i in newly_summarised(self.buffer, self.cut, since)]

    @property
    def least_new(self) -> int:
        """Tokens that a compaction must summarise to be worth a job."""
        return least_new(self.total, self.limits.min_new_tokens, self.limits.summary_max_tokens)

    def after(self, record: SummaryRecord) -> int:
        """Return an upper estimate of the request with the record swapped in."""
        kept = sum(self.held[i].tokens for i in behind(self.buffer, record.position))
        return self.outside + kept + record.summary_tokens


class Ahead:
    """Compacts as a host and its workers do; a job is done so many turns after it was asked for.

    At hard a turn waits for the record. What is over the window then is sent as it is: no view is degraded.
    """

    def __init__(self, ground: Ground, policy: Policy, due: Due, job_turns: int = 1) -> None:
        self.ground = ground
        self._policy = policy
        self._limits = limits(policy, ground.window)
        self._due = due
        self._job_turns = job_turns
        self._buffer = empty(ground.dialect)
        self._turns = 0
        self._job: tuple[int, SummaryRecord] | None = None
        self._record: SummaryRecord | None = None
        self._versions = 0
        self._last_swap: int | None = None

    def turn(self, buffer: list[Held]) -> list[Held]:
        """Swap, ask, wait or keep, as the host's decision says."""
        self._turns += 1
        total = self.ground.size(buffer) + self._limits.max_tokens
        return buffer if total < self._limits.soft else self._acted(self._read(buffer))

    def _read(self, held: list[Held]) -> Standing:
        self._buffer = read([h.message for h in held], self.ground.dialect, self._buffer)
        return Standing(held, self._buffer, self._limits, self.ground.fixed + self._limits.max_tokens)

    def _acted(self, at: Standing) -> list[Held]:
        """Go through the decisions of one turn until nothing more is to be done."""
        swapped = unusable = waited = False
        while True:
            self._deliver()
            ready = not unusable and self._ready(at)
            decision = decide(self._situation(at, ready=ready, waited=waited, swapped=swapped))
            if decision.claim and self._job is None:
                self._ask(at)
            if decision.action is Action.SWAP:
                done = self._swapped(at)
                at, swapped, unusable = (done, True, True) if done else (at, swapped, True)
            elif decision.action is Action.WAIT:
                self.ground.effort.waits += 1
                self._deliver(awaited=True)
                waited, unusable = True, False
            else:
                return at.held

    def _deliver(self, *, awaited: bool = False) -> None:
        """Publish the record of a job that is done by now, or that is waited for."""
        if self._job is not None and (awaited or self._job[0] <= self._turns):
            self._record, self._job = self._job[1], None

    def _ready(self, at: Standing) -> bool:
        record = self._record
        further = record is not None and record.position.count > at.buffer.chain.base.count
        return record is not None and further and applies(record.position, at.buffer)

    def _situation(self, at: Standing, *, ready: bool, waited: bool, swapped: bool) -> Situation:
        since = self._record.position.count if self._record and self._ready(at) else 0
        new = sum(h.tokens for h in at.source(since))
        return Situation(
            projected=at.total,
            soft=self._limits.soft,
            hard=self._limits.hard,
            mode=Mode.ON,
            breaker=BreakerState.CLOSED,
            ready=ready,
            due=ready and self._is_due(at),
            short=ready and self._record is not None and at.after(self._record) >= self._limits.hard,
            cuttable=at.cut is not None,
            enough_new=new >= at.least_new,
            pending=self._job is not None,
            store=True,
            waited=waited,
            swapped=swapped,
        )

    def _is_due(self, at: Standing) -> bool:
        record, last = self._record, self._last_swap
        if record is None:
            return False
        since = None if last is None else self._turns - last
        if not rested(since, self._policy.min_turns_between_swaps):
            return False
        chance = Chance(
            projected=at.total,
            after=at.after(record),
            unchanged=at.outside,
            window=self._limits.window,
            idle=0.0,
            turns=self._turns - (1 if last is None else last),
        )
        return self._due(chance)

    def _ask(self, at: Standing) -> None:
        """Begin a job for what lies before the cut; its chunks are calls of their own."""
        cut = at.cut
        if cut is None:
            return
        base = at.buffer.summary.summary if at.buffer.summary else None
        note = self.ground.notes.write(at.source(0), base, self._limits.summary_max_tokens)
        for start in range(0, cut.new_tokens, self._policy.chunk_tokens):
            self.ground.called(min(self._policy.chunk_tokens, cut.new_tokens - start), note.tokens)
        self._versions += 1
        text = render(note.summary)
        record = SummaryRecord(
            version=self._versions,
            incarnation="cost",
            generation=0,
            base_version=0,
            base=at.buffer.chain.base,
            position=cut.position,
            carried=cut.carried,
            released=cut.released,
            summary=note.summary,
            text=text,
            coverage=(),
            summariser=_NOBODY,
            source_tokens=cut.new_tokens,
            summary_tokens=note.tokens,
            created_at=0.0,
            job_id=f"cost-{self._versions}",
            body=body_digest(cut.position, cut.carried, text),
        )
        self._job = (self._turns + self._job_turns, record)

    def _swapped(self, at: Standing) -> Standing | None:
        """Return the buffer with the record swapped in, None when that can't be done or brings too little."""
        record = self._record
        if record is None:
            return None
        try:
            done = apply(record, at.buffer)
        except NotApplicable:
            return None
        mine = {id(h.message): h for h in at.held}
        kept = [mine[id(m)] for m in done.messages if m is not done.summary_message]
        if not progressed(at.total, at.outside + record.summary_tokens + sum(h.tokens for h in kept)):
            return None
        summary = self.ground.compacted(dict(done.summary_message), record.summary_tokens)
        place = next(i for i, m in enumerate(done.messages) if m is done.summary_message)
        after = self._read([*kept[:place], summary, *kept[place:]])
        self._last_swap = self._turns
        return after
