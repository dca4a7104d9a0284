"""Every cell of the decision table."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from ebbtide_core.breaker import BreakerState
from ebbtide_core.decide import Action, Decision, Reason, Situation, decide
from ebbtide_core.policy import Mode

SOFT, HARD = 700, 950
BELOW, BETWEEN, AT_HARD = 699, 700, 950


def situation(projected: int, **known: Any) -> Situation:
    """A situation in which everything is well, but for what is given."""
    well: dict[str, Any] = {
        "mode": Mode.ON,
        "breaker": BreakerState.CLOSED,
        "ready": False,
        "cuttable": True,
        "enough_new": True,
        "pending": False,
        "store": True,
    }
    return Situation(projected=projected, soft=SOFT, hard=HARD, **{**well, **known})


KEEP, SWAP, PRUNE, ENQUEUE = Action.KEEP, Action.SWAP, Action.PRUNE, Action.ENQUEUE
WAIT, DEGRADE = Action.WAIT, Action.DEGRADE
OPEN, HALF, SHADOW = BreakerState.OPEN, BreakerState.HALF, Mode.SHADOW
BLOCKED, REFUSED = {"blocked": True}, {"refused": True}
UNDER_SOFT, UNDER_HARD = {"pruned_to": SOFT - 1}, {"pruned_to": HARD - 1}
NOT_DUE = {"ready": True, "due": False}

TABLE: dict[str, tuple[int, dict[str, Any], Decision]] = {
    "below soft nothing is done": (BELOW, {}, Decision(KEEP, Reason.BELOW_SOFT)),
    "below soft a ready record waits": (BELOW, {"ready": True}, Decision(KEEP, Reason.BELOW_SOFT)),
    "below soft with the breaker open": (BELOW, {"breaker": OPEN}, Decision(KEEP, Reason.BELOW_SOFT)),
    "below soft nothing is pruned": (BELOW, UNDER_SOFT, Decision(KEEP, Reason.BELOW_SOFT)),
    "between: a record is asked for": (BETWEEN, {}, Decision(ENQUEUE, Reason.OVER_SOFT, claim=True)),
    "between: half-open, a probe": (
        BETWEEN,
        {"breaker": HALF},
        Decision(ENQUEUE, Reason.OVER_SOFT, claim=True),
    ),
    "between: swap": (BETWEEN, {"ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    "between: swap before prune": (
        BETWEEN,
        {"ready": True, **UNDER_SOFT},
        Decision(SWAP, Reason.RECORD_READY),
    ),
    "between: the swap policy says later, a farther record is asked for": (
        BETWEEN,
        NOT_DUE,
        Decision(KEEP, Reason.SWAP_LATER, claim=True),
    ),
    "between: later, and no prune either": (
        BETWEEN,
        {**NOT_DUE, **UNDER_SOFT},
        Decision(KEEP, Reason.SWAP_LATER, claim=True),
    ),
    "between: later, and a farther record is under way": (
        BETWEEN,
        {**NOT_DUE, "pending": True},
        Decision(KEEP, Reason.SWAP_LATER),
    ),
    "between: later, and too little is new for a farther record": (
        BETWEEN,
        {**NOT_DUE, "enough_new": False},
        Decision(KEEP, Reason.SWAP_LATER),
    ),
    "between: prune": (BETWEEN, UNDER_SOFT, Decision(PRUNE, Reason.SUPERSEDED)),
    "between: prune before waiting for a job": (
        BETWEEN,
        {"pending": True, **UNDER_SOFT},
        Decision(PRUNE, Reason.SUPERSEDED),
    ),
    "between: a batch that is not enough": (
        BETWEEN,
        {"pruned_to": SOFT},
        Decision(ENQUEUE, Reason.OVER_SOFT, claim=True),
    ),
    "between: declined by the host": (BETWEEN, {"declined": True}, Decision(KEEP, Reason.SWAP_DECLINED)),
    "between: breaker open, keep": (BETWEEN, {"breaker": OPEN}, Decision(KEEP, Reason.BREAKER_OPEN)),
    "between: breaker open, swap": (
        BETWEEN,
        {"breaker": OPEN, "ready": True},
        Decision(SWAP, Reason.RECORD_READY),
    ),
    "between: breaker open, prune": (
        BETWEEN,
        {"breaker": OPEN, **UNDER_SOFT},
        Decision(PRUNE, Reason.SUPERSEDED),
    ),
    "between: blocked, keep": (BETWEEN, BLOCKED, Decision(KEEP, Reason.PROVIDER_DOWN)),
    "between: blocked, a job is under way": (
        BETWEEN,
        {**BLOCKED, "pending": True},
        Decision(KEEP, Reason.PROVIDER_DOWN),
    ),
    "between: blocked, swap": (BETWEEN, {**BLOCKED, "ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    "between: blocked, later, no farther record is asked for": (
        BETWEEN,
        {**BLOCKED, **NOT_DUE},
        Decision(KEEP, Reason.SWAP_LATER),
    ),
    "between: blocked, prune": (BETWEEN, {**BLOCKED, **UNDER_SOFT}, Decision(PRUNE, Reason.SUPERSEDED)),
    "between: refused, keep": (BETWEEN, REFUSED, Decision(KEEP, Reason.REFUSED)),
    "between: refused, swap": (BETWEEN, {**REFUSED, "ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    "between: refused, later, no farther record is asked for": (
        BETWEEN,
        {**REFUSED, **NOT_DUE},
        Decision(KEEP, Reason.SWAP_LATER),
    ),
    "between: refused, prune": (BETWEEN, {**REFUSED, **UNDER_SOFT}, Decision(PRUNE, Reason.SUPERSEDED)),
    "between: refused and blocked": (
        BETWEEN,
        {**REFUSED, **BLOCKED},
        Decision(KEEP, Reason.PROVIDER_DOWN),
    ),
    "between: a job is under way": (BETWEEN, {"pending": True}, Decision(KEEP, Reason.JOB_PENDING)),
    "between: nothing to cut": (BETWEEN, {"cuttable": False}, Decision(KEEP, Reason.NOTHING_TO_CUT)),
    "between: too little is new": (BETWEEN, {"enough_new": False}, Decision(KEEP, Reason.TOO_LITTLE_NEW)),
    "between: no store": (BETWEEN, {"store": False}, Decision(KEEP, Reason.STORE_UNAVAILABLE)),
    "between: no store, prune": (BETWEEN, {"store": False, **UNDER_SOFT}, Decision(PRUNE, Reason.SUPERSEDED)),
    "between: split brain": (BETWEEN, {"split_brain": True}, Decision(KEEP, Reason.SPLIT_BRAIN)),
    "at hard: claim and wait": (AT_HARD, {}, Decision(WAIT, Reason.OVER_HARD, claim=True)),
    "at hard: half-open, claim and wait": (
        AT_HARD,
        {"breaker": HALF},
        Decision(WAIT, Reason.OVER_HARD, claim=True),
    ),
    "at hard: wait for the job under way": (
        AT_HARD,
        {"pending": True},
        Decision(WAIT, Reason.OVER_HARD, claim=True),
    ),
    "at hard: degrade after waiting, the job goes on": (
        AT_HARD,
        {"waited": True},
        Decision(DEGRADE, Reason.NO_RECORD_IN_TIME, claim=True),
    ),
    "at hard: the record was not enough": (
        AT_HARD,
        {"swapped": True},
        Decision(DEGRADE, Reason.NOT_ENOUGH, claim=True),
    ),
    "at hard: swap": (AT_HARD, {"ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    "at hard: swap, whatever the policy says": (AT_HARD, NOT_DUE, Decision(SWAP, Reason.RECORD_READY)),
    "at hard: the ready record falls short, wait for a farther one": (
        AT_HARD,
        {"ready": True, "short": True},
        Decision(WAIT, Reason.OVER_HARD, claim=True),
    ),
    "at hard: it falls short, and a farther one did not come": (
        AT_HARD,
        {"ready": True, "short": True, "waited": True},
        Decision(SWAP, Reason.RECORD_READY),
    ),
    "at hard: it falls short, and no farther one can be had": (
        AT_HARD,
        {"ready": True, "short": True, "enough_new": False},
        Decision(SWAP, Reason.RECORD_READY),
    ),
    "at hard: prune before waiting": (AT_HARD, UNDER_HARD, Decision(PRUNE, Reason.SUPERSEDED)),
    "at hard: a batch that is not enough": (
        AT_HARD,
        {"pruned_to": HARD},
        Decision(WAIT, Reason.OVER_HARD, claim=True),
    ),
    "at hard: declined by the host": (AT_HARD, {"declined": True}, Decision(DEGRADE, Reason.SWAP_DECLINED)),
    "at hard: breaker open, degrade": (AT_HARD, {"breaker": OPEN}, Decision(DEGRADE, Reason.BREAKER_OPEN)),
    "at hard: breaker open, swap": (
        AT_HARD,
        {"breaker": OPEN, "ready": True},
        Decision(SWAP, Reason.RECORD_READY),
    ),
    "at hard: breaker open, prune": (
        AT_HARD,
        {"breaker": OPEN, **UNDER_HARD},
        Decision(PRUNE, Reason.SUPERSEDED),
    ),
    "at hard: blocked, degrade at once": (AT_HARD, BLOCKED, Decision(DEGRADE, Reason.PROVIDER_DOWN)),
    "at hard: blocked, the job under way is not waited for": (
        AT_HARD,
        {**BLOCKED, "pending": True},
        Decision(DEGRADE, Reason.PROVIDER_DOWN),
    ),
    "at hard: blocked, swap": (AT_HARD, {**BLOCKED, "ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    "at hard: blocked, what falls short is all there is": (
        AT_HARD,
        {**BLOCKED, "ready": True, "short": True},
        Decision(SWAP, Reason.RECORD_READY),
    ),
    "at hard: blocked, prune": (AT_HARD, {**BLOCKED, **UNDER_HARD}, Decision(PRUNE, Reason.SUPERSEDED)),
    "at hard: refused, degrade at once": (AT_HARD, REFUSED, Decision(DEGRADE, Reason.REFUSED)),
    "at hard: refused while waiting": (
        AT_HARD,
        {**REFUSED, "waited": True},
        Decision(DEGRADE, Reason.REFUSED),
    ),
    "at hard: refused, swap": (AT_HARD, {**REFUSED, "ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    "at hard: refused, prune": (AT_HARD, {**REFUSED, **UNDER_HARD}, Decision(PRUNE, Reason.SUPERSEDED)),
    "at hard: nothing to cut": (AT_HARD, {"cuttable": False}, Decision(DEGRADE, Reason.NOTHING_TO_CUT)),
    "at hard: too little is new": (AT_HARD, {"enough_new": False}, Decision(DEGRADE, Reason.TOO_LITTLE_NEW)),
    "at hard: no store": (AT_HARD, {"store": False}, Decision(DEGRADE, Reason.STORE_UNAVAILABLE)),
    "at hard: split brain": (AT_HARD, {"split_brain": True}, Decision(DEGRADE, Reason.SPLIT_BRAIN)),
    "off": (AT_HARD, {"mode": Mode.OFF}, Decision(KEEP, Reason.MODE_OFF)),
    "off, by hand": (AT_HARD, {"mode": Mode.OFF, "by_hand": True}, Decision(KEEP, Reason.MODE_OFF)),
    "shadow: a job, no more": (BETWEEN, {"mode": SHADOW}, Decision(KEEP, Reason.SHADOW, claim=True)),
    "shadow at hard": (AT_HARD, {"mode": SHADOW}, Decision(KEEP, Reason.SHADOW, claim=True)),
    "shadow with a record": (AT_HARD, {"mode": SHADOW, "ready": True}, Decision(KEEP, Reason.SHADOW)),
    "shadow prunes nothing": (
        AT_HARD,
        {"mode": SHADOW, **UNDER_SOFT},
        Decision(KEEP, Reason.SHADOW, claim=True),
    ),
    "shadow, breaker open": (
        AT_HARD,
        {"mode": SHADOW, "breaker": OPEN},
        Decision(KEEP, Reason.BREAKER_OPEN),
    ),
    "shadow, blocked": (AT_HARD, {"mode": SHADOW, **BLOCKED}, Decision(KEEP, Reason.PROVIDER_DOWN)),
    "shadow, refused": (AT_HARD, {"mode": SHADOW, **REFUSED}, Decision(KEEP, Reason.REFUSED)),
    "by hand: claim and wait": (BELOW, {"by_hand": True}, Decision(WAIT, Reason.BY_HAND, claim=True)),
    "by hand: a record is ready": (
        BELOW,
        {"by_hand": True, **NOT_DUE},
        Decision(SWAP, Reason.RECORD_READY),
    ),
    "by hand: done": (BELOW, {"by_hand": True, "swapped": True}, Decision(KEEP, Reason.BY_HAND)),
    "by hand: not in time": (
        BELOW,
        {"by_hand": True, "waited": True},
        Decision(KEEP, Reason.NO_RECORD_IN_TIME, claim=True),
    ),
    "by hand: breaker open": (BELOW, {"by_hand": True, "breaker": OPEN}, Decision(KEEP, Reason.BREAKER_OPEN)),
    "by hand: blocked": (BELOW, {"by_hand": True, **BLOCKED}, Decision(KEEP, Reason.PROVIDER_DOWN)),
    "by hand: refused": (BELOW, {"by_hand": True, **REFUSED}, Decision(KEEP, Reason.REFUSED)),
    "by hand at hard: not in time": (
        AT_HARD,
        {"by_hand": True, "waited": True},
        Decision(DEGRADE, Reason.NO_RECORD_IN_TIME, claim=True),
    ),
}


@pytest.mark.parametrize("cell", TABLE)
def test_a_cell_of_the_table(cell: str) -> None:
    """The situation gives the documented action, reason and claim."""
    projected, known, expected = TABLE[cell]
    assert decide(situation(projected, **known)) == expected


FLAGS = (
    "ready",
    "due",
    "short",
    "cuttable",
    "enough_new",
    "pending",
    "store",
    "waited",
    "declined",
    "swapped",
)
HINDRANCES: tuple[dict[str, Any], ...] = ({}, BLOCKED, REFUSED)
BATCHES = (None, SOFT - 1, HARD - 1, HARD)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("breaker", list(BreakerState))
def test_what_holds_in_every_situation(mode: Mode, breaker: BreakerState) -> None:
    """Nothing is done below soft; only mode on swaps, prunes or degrades; a claim is never made, and nothing
    waited for, against an open breaker, a block or a refusal, without a store or without anything to cut; and
    at hard nothing too large is sent."""
    sizes = product((BELOW, BETWEEN, AT_HARD), BATCHES, HINDRANCES)
    flags = product((False, True), repeat=len(FLAGS))
    for (projected, pruned_to, hindrance), values in product(sizes, flags):
        known = dict(zip(FLAGS, values, strict=True)) | hindrance
        s = situation(projected, mode=mode, breaker=breaker, pruned_to=pruned_to, **known)
        d = decide(s)
        if projected < SOFT:
            assert (d.action, d.claim) == (KEEP, False)
        if mode is not Mode.ON:
            assert d.action is KEEP
        if d.claim or d.action is WAIT:
            assert s.store
            assert not s.blocked
            assert not s.refused
            assert s.cuttable
            assert breaker is not OPEN
        if mode is Mode.ON and projected >= HARD:
            assert d.action in (SWAP, PRUNE, WAIT, DEGRADE)
        if d.action is SWAP:
            assert s.ready
        if d.action is PRUNE:
            assert pruned_to is not None
            assert pruned_to < projected
