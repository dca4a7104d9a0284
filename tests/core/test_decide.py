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


KEEP, SWAP, ENQUEUE, WAIT, DEGRADE = Action.KEEP, Action.SWAP, Action.ENQUEUE, Action.WAIT, Action.DEGRADE
OPEN = BreakerState.OPEN

TABLE: list[tuple[int, dict[str, Any], Decision]] = [
    (BELOW, {}, Decision(KEEP, Reason.BELOW_SOFT)),
    (BELOW, {"ready": True}, Decision(KEEP, Reason.BELOW_SOFT)),
    (BELOW, {"breaker": OPEN}, Decision(KEEP, Reason.BELOW_SOFT)),
    (BETWEEN, {}, Decision(ENQUEUE, Reason.OVER_SOFT, claim=True)),
    (BETWEEN, {"ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    (BETWEEN, {"breaker": BreakerState.HALF}, Decision(ENQUEUE, Reason.OVER_SOFT, claim=True)),
    (BETWEEN, {"breaker": OPEN}, Decision(KEEP, Reason.BREAKER_OPEN)),
    (BETWEEN, {"breaker": OPEN, "ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    (BETWEEN, {"pending": True}, Decision(KEEP, Reason.JOB_PENDING)),
    (BETWEEN, {"cuttable": False}, Decision(KEEP, Reason.NOTHING_TO_CUT)),
    (BETWEEN, {"enough_new": False}, Decision(KEEP, Reason.TOO_LITTLE_NEW)),
    (BETWEEN, {"store": False}, Decision(KEEP, Reason.STORE_UNAVAILABLE)),
    (BETWEEN, {"split_brain": True}, Decision(KEEP, Reason.SPLIT_BRAIN)),
    (AT_HARD, {}, Decision(WAIT, Reason.OVER_HARD, claim=True)),
    (AT_HARD, {"pending": True}, Decision(WAIT, Reason.OVER_HARD, claim=True)),
    (AT_HARD, {"waited": True}, Decision(DEGRADE, Reason.NO_RECORD_IN_TIME, claim=True)),
    (AT_HARD, {"swapped": True}, Decision(DEGRADE, Reason.NOT_ENOUGH, claim=True)),
    (AT_HARD, {"ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    (AT_HARD, {"breaker": OPEN}, Decision(DEGRADE, Reason.BREAKER_OPEN)),
    (AT_HARD, {"breaker": OPEN, "ready": True}, Decision(SWAP, Reason.RECORD_READY)),
    (AT_HARD, {"cuttable": False}, Decision(DEGRADE, Reason.NOTHING_TO_CUT)),
    (AT_HARD, {"enough_new": False}, Decision(DEGRADE, Reason.TOO_LITTLE_NEW)),
    (AT_HARD, {"store": False}, Decision(DEGRADE, Reason.STORE_UNAVAILABLE)),
    (AT_HARD, {"split_brain": True}, Decision(DEGRADE, Reason.SPLIT_BRAIN)),
    (AT_HARD, {"mode": Mode.OFF}, Decision(KEEP, Reason.MODE_OFF)),
    (BETWEEN, {"mode": Mode.SHADOW}, Decision(KEEP, Reason.SHADOW, claim=True)),
    (AT_HARD, {"mode": Mode.SHADOW}, Decision(KEEP, Reason.SHADOW, claim=True)),
    (AT_HARD, {"mode": Mode.SHADOW, "ready": True}, Decision(KEEP, Reason.SHADOW)),
    (AT_HARD, {"mode": Mode.SHADOW, "breaker": OPEN}, Decision(KEEP, Reason.BREAKER_OPEN)),
]


@pytest.mark.parametrize(("projected", "known", "expected"), TABLE)
def test_a_cell_of_the_table(projected: int, known: dict[str, Any], expected: Decision) -> None:
    """The situation gives the documented action, reason and claim."""
    assert decide(situation(projected, **known)) == expected


FLAGS = ("ready", "cuttable", "enough_new", "pending", "store", "split_brain", "waited")


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("breaker", list(BreakerState))
def test_what_holds_in_every_situation(mode: Mode, breaker: BreakerState) -> None:
    """Nothing is done below soft; only mode on swaps or degrades; a claim is never made against an open
    breaker, without a store or without anything to cut; and at hard nothing too large is sent."""
    for projected, *values in product((BELOW, BETWEEN, AT_HARD), *[(False, True)] * len(FLAGS)):
        s = situation(projected, mode=mode, breaker=breaker, **dict(zip(FLAGS, values, strict=True)))
        d = decide(s)
        if projected < SOFT:
            assert (d.action, d.claim) == (KEEP, False)
        if mode is not Mode.ON:
            assert d.action is KEEP
        if d.claim:
            assert s.store
            assert s.cuttable
            assert breaker is not OPEN
        if mode is Mode.ON and projected >= HARD:
            assert d.action in (SWAP, WAIT, DEGRADE)
