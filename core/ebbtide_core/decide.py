"""What a turn does: one pure function from the situation to an action and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ebbtide_core.breaker import BreakerState
from ebbtide_core.policy import Mode


class Action(StrEnum):
    """keep: send the buffer. swap: replace its head by a record. enqueue: keep it and ask for a record.
    wait: ask for a record at once and wait for it. degrade: send a smaller view."""

    KEEP = "keep"
    SWAP = "swap"
    ENQUEUE = "enqueue"
    WAIT = "wait"
    DEGRADE = "degrade"


class Reason(StrEnum):
    """Why a turn did what it did."""

    BELOW_SOFT = "below_soft"
    MODE_OFF = "mode_off"
    SHADOW = "shadow"
    RECORD_READY = "record_ready"
    REAPPLIED = "reapplied"
    OVER_SOFT = "over_soft"
    JOB_PENDING = "job_pending"
    OVER_HARD = "over_hard"
    BREAKER_OPEN = "breaker_open"
    NOTHING_TO_CUT = "nothing_to_cut"
    TOO_LITTLE_NEW = "too_little_new"
    SPLIT_BRAIN = "split_brain"
    STORE_UNAVAILABLE = "store_unavailable"
    NO_RECORD_IN_TIME = "no_record_in_time"
    NOT_ENOUGH = "not_enough"


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known at a turn border, sizes in tokens.

    `ready`: a usable record is at hand. `cuttable`: a compaction would have something new to summarise.
    `enough_new`: it is at least `min_new_tokens`. `pending`: a compaction of the session is under way.
    `store`: the state store answered. `waited`: the wait
    budget is spent, or there is none. `swapped`: this turn has swapped a record in, and swaps no second one.
    """

    projected: int
    soft: int
    hard: int
    mode: Mode
    breaker: BreakerState
    ready: bool
    cuttable: bool
    enough_new: bool
    pending: bool
    store: bool
    split_brain: bool = False
    waited: bool = False
    swapped: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The action, its reason, and whether a compaction is to be claimed (and with which urgency)."""

    action: Action
    reason: Reason
    claim: bool = False

    @property
    def urgent(self) -> bool:
        """A claim made at hard goes before others of its tenant."""
        return self.action in (Action.WAIT, Action.DEGRADE)


def decide(s: Situation) -> Decision:
    """Return what this turn does (DESIGN: the table of watermarks against breaker states).

    Off never acts. Shadow claims, but neither swaps nor degrades. A record that is ready is swapped from soft
    on, whatever the breaker says: it guards making summaries, never using them.
    """
    if s.mode is Mode.OFF:
        return Decision(Action.KEEP, Reason.MODE_OFF)
    if s.projected < s.soft:
        return Decision(Action.KEEP, Reason.BELOW_SOFT)
    if s.ready and s.mode is Mode.ON:
        return Decision(Action.SWAP, Reason.RECORD_READY)
    obstacle = _obstacle(s)
    if s.mode is Mode.SHADOW:
        return Decision(Action.KEEP, obstacle or Reason.SHADOW, claim=obstacle is None and not s.ready)
    if s.projected < s.hard:
        return _between(s, obstacle)
    return _at_hard(s, obstacle)


def _obstacle(s: Situation) -> Reason | None:
    """Why no compaction can be asked for, if so."""
    if not s.store:
        return Reason.STORE_UNAVAILABLE
    if s.breaker is BreakerState.OPEN:
        return Reason.BREAKER_OPEN
    if s.split_brain:
        return Reason.SPLIT_BRAIN
    if not s.cuttable:
        return Reason.NOTHING_TO_CUT
    return None if s.enough_new or s.pending else Reason.TOO_LITTLE_NEW


def _between(s: Situation, obstacle: Reason | None) -> Decision:
    if obstacle is not None:
        return Decision(Action.KEEP, obstacle)
    if s.pending:
        return Decision(Action.KEEP, Reason.JOB_PENDING)
    return Decision(Action.ENQUEUE, Reason.OVER_SOFT, claim=True)


def _at_hard(s: Situation, obstacle: Reason | None) -> Decision:
    if obstacle is not None:
        return Decision(Action.DEGRADE, obstacle)
    if s.swapped:
        return Decision(Action.DEGRADE, Reason.NOT_ENOUGH, claim=True)
    if s.waited:
        return Decision(Action.DEGRADE, Reason.NO_RECORD_IN_TIME, claim=True)
    return Decision(Action.WAIT, Reason.OVER_HARD, claim=True)
