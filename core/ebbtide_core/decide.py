"""What a turn does: one pure function from the situation to an action and its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ebbtide_core.breaker import BreakerState
from ebbtide_core.policy import Mode


class Action(StrEnum):
    """keep: send the buffer. swap: replace its head by a record. prune: leave superseded tool results out.
    enqueue: keep it and ask for a record. wait: ask for a record at once and wait for it. degrade: send a
    smaller view."""

    KEEP = "keep"
    SWAP = "swap"
    PRUNE = "prune"
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
    SWAP_LATER = "swap_later"
    SWAP_DECLINED = "swap_declined"
    SUPERSEDED = "superseded_results"
    OVER_SOFT = "over_soft"
    JOB_PENDING = "job_pending"
    OVER_HARD = "over_hard"
    BREAKER_OPEN = "breaker_open"
    PROVIDER_DOWN = "provider_down"
    REFUSED = "refused"
    NOTHING_TO_CUT = "nothing_to_cut"
    TOO_LITTLE_NEW = "too_little_new"
    SPLIT_BRAIN = "split_brain"
    STORE_UNAVAILABLE = "store_unavailable"
    NO_RECORD_IN_TIME = "no_record_in_time"
    NOT_ENOUGH = "not_enough"
    BY_HAND = "by_hand"


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known at a turn border, sizes in tokens.

    `projected`: the next request, as pruned so far. `ready`: a usable record is at hand. `due`: the swap
    policy agrees and the last swap is long enough ago. `short`: with it the request would still be at hard.
    `pruned_to`: the request's size with one more batch of
    superseded results left out, None when there is none to be had. `cuttable`: a compaction would have
    something new to summarise. `enough_new`: it is at least `min_new_tokens`. `pending`: a compaction of the
    session is under way. `store`: the state store answered. `waited`: the wait budget is spent, or there is
    none. `blocked`: no summary can be made for the tenant at present. `refused`: a job of the session was not
    admitted a moment ago. `swapped`: this turn has swapped a record in, and swaps no second one. `declined`:
    the host declined the record that was ready. `by_hand`: the host asks for a compaction whatever the size.
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
    due: bool = True
    short: bool = False
    pruned_to: int | None = None
    split_brain: bool = False
    blocked: bool = False
    refused: bool = False
    waited: bool = False
    swapped: bool = False
    declined: bool = False
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The action, its reason, and whether a compaction is to be claimed (and with which urgency)."""

    action: Action
    reason: Reason
    claim: bool = False

    @property
    def urgent(self) -> bool:
        """A claim made at hard, or by hand, goes before others of its tenant."""
        waits = self.action in (Action.WAIT, Action.DEGRADE)
        return waits or self.reason is Reason.NO_RECORD_IN_TIME


def decide(s: Situation) -> Decision:
    """Return what this turn does (DESIGN: the table of watermarks against breaker states).

    Off never acts. Shadow claims, but neither swaps nor degrades. A record that is ready is swapped from soft
    on as soon as the swap policy agrees, from hard on in any case, whatever the breaker says: it guards
    making summaries, never using them. A record that only waits for its moment keeps superseded results in,
    since leaving them out would cost the cache twice; once enough is new behind it, a farther one is asked
    for, which will leave less to be written anew. So it is at hard, and waited for, where the ready one would
    not bring the request below. A batch that does comes before waiting for a record.
    """
    if s.mode is Mode.OFF:
        return Decision(Action.KEEP, Reason.MODE_OFF)
    obstacle = _obstacle(s)
    if s.by_hand and s.mode is Mode.ON:
        return _by_hand(s, obstacle)
    if s.projected < s.soft:
        return Decision(Action.KEEP, Reason.BELOW_SOFT)
    if s.mode is Mode.SHADOW:
        return Decision(Action.KEEP, obstacle or Reason.SHADOW, claim=obstacle is None and not s.ready)
    return _between(s, obstacle) if s.projected < s.hard else _at_hard(s, obstacle)


def _obstacle(s: Situation) -> Reason | None:
    """Why no compaction can be asked for, if so."""
    if not s.store:
        return Reason.STORE_UNAVAILABLE
    if s.declined:
        return Reason.SWAP_DECLINED
    if s.breaker is BreakerState.OPEN:
        return Reason.BREAKER_OPEN
    if s.blocked:
        return Reason.PROVIDER_DOWN
    if s.refused:
        return Reason.REFUSED
    if s.split_brain:
        return Reason.SPLIT_BRAIN
    if not s.cuttable:
        return Reason.NOTHING_TO_CUT
    return None if s.enough_new or s.pending else Reason.TOO_LITTLE_NEW


def _between(s: Situation, obstacle: Reason | None) -> Decision:
    if s.ready:
        if s.due:
            return Decision(Action.SWAP, Reason.RECORD_READY)
        return Decision(Action.KEEP, Reason.SWAP_LATER, claim=obstacle is None and not s.pending)
    if s.pruned_to is not None and s.pruned_to < s.soft:
        return Decision(Action.PRUNE, Reason.SUPERSEDED)
    if obstacle is not None:
        return _kept(obstacle)
    return _kept(Reason.JOB_PENDING) if s.pending else Decision(Action.ENQUEUE, Reason.OVER_SOFT, claim=True)


def _at_hard(s: Situation, obstacle: Reason | None) -> Decision:
    farther = s.short and obstacle is None and not s.waited
    if s.ready and not farther:
        return Decision(Action.SWAP, Reason.RECORD_READY)
    if s.pruned_to is not None and s.pruned_to < s.hard:
        return Decision(Action.PRUNE, Reason.SUPERSEDED)
    if obstacle is not None:
        return Decision(Action.DEGRADE, obstacle)
    if s.swapped:
        return Decision(Action.DEGRADE, Reason.NOT_ENOUGH, claim=True)
    if s.waited:
        return Decision(Action.DEGRADE, Reason.NO_RECORD_IN_TIME, claim=True)
    return Decision(Action.WAIT, Reason.OVER_HARD, claim=True)


def _by_hand(s: Situation, obstacle: Reason | None) -> Decision:
    """Below hard a compaction asked for by hand that can't be had changes nothing."""
    if s.ready:
        return Decision(Action.SWAP, Reason.RECORD_READY)
    if (s.swapped or s.waited or obstacle is not None) and s.projected >= s.hard:
        return _at_hard(s, obstacle)
    if s.swapped or obstacle is not None:
        return _kept(obstacle if obstacle is not None and not s.swapped else Reason.BY_HAND)
    if s.waited:
        return Decision(Action.KEEP, Reason.NO_RECORD_IN_TIME, claim=True)
    return Decision(Action.WAIT, Reason.BY_HAND, claim=True)


def _kept(reason: Reason) -> Decision:
    return Decision(Action.KEEP, reason)
