"""The per-session circuit breaker around making summaries, as a pure machine.

closed -(failures in a row)-> open -(counted turns, or time)-> half-open -(one probe: success)-> closed
                                ^-----------------------------(failure)-----'

It guards making summaries, never using them. A probe that ends without an outcome gives its place back. Times
are seconds of one clock, passed in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class BreakerState(StrEnum):
    """closed: claims are given. open: none. half: one claim at a time is given as a probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF = "half"


class Outcome(StrEnum):
    """How an attempt ended. Neutral: fenced, superseded, snapshot gone, refused, cancelled, provider down."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Breaker:
    """State, failures in a row, turns counted since it opened, the epoch of the probe under way (0: none),
    and when it opened (None unless open)."""

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    turns: int = 0
    probe: int = 0
    opened: float | None = None


def on_turn(breaker: Breaker, cooldown: int) -> Breaker:
    """Count one turn: the `cooldown`-th after opening makes it half-open."""
    if breaker.state is not BreakerState.OPEN:
        return breaker
    turns = breaker.turns + 1
    if turns < cooldown:
        return replace(breaker, turns=turns)
    return _half(breaker)


def on_time(breaker: Breaker, now: float, cooldown: float | None) -> Breaker:
    """Let time pass: `cooldown` seconds after opening it is half-open; None: only turns make it so."""
    if breaker.opened is None or cooldown is None or now - breaker.opened < cooldown:
        return breaker
    return _half(breaker)


def _half(breaker: Breaker) -> Breaker:
    return replace(breaker, state=BreakerState.HALF, turns=0, probe=0, opened=None)


def allows_claim(breaker: Breaker) -> bool:
    """Say whether a claim may be given now."""
    return breaker.state is BreakerState.CLOSED or (breaker.state is BreakerState.HALF and not breaker.probe)


def on_claim(breaker: Breaker, epoch: int) -> Breaker:
    """Note the claim as the probe when half-open."""
    return replace(breaker, probe=epoch) if breaker.state is BreakerState.HALF else breaker


def on_claim_end(breaker: Breaker, epoch: int) -> Breaker:
    """Give the probe's place back when its claim ends without an outcome (run out, forked, neutral)."""
    return replace(breaker, probe=0) if breaker.probe == epoch else breaker


def on_outcome(
    breaker: Breaker, outcome: Outcome, epoch: int, failures_to_open: int, now: float | None = None
) -> Breaker:
    """Count the outcome of the attempt that holds the claim.

    `now` is kept when it opens the breaker; without it, only turns make it half-open.
    """
    if outcome is Outcome.SUCCESS:
        return Breaker()
    if outcome is Outcome.NEUTRAL:
        return on_claim_end(breaker, epoch)
    failures = breaker.failures + 1
    if breaker.state is BreakerState.HALF or failures >= failures_to_open:
        return Breaker(BreakerState.OPEN, failures, opened=now)
    return replace(breaker, failures=failures)
