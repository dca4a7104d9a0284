"""The breaker as a pure machine: every transition, and what holds in every run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.breaker import (
    Breaker,
    BreakerState,
    Outcome,
    allows_claim,
    on_claim,
    on_claim_end,
    on_outcome,
    on_time,
    on_turn,
)

CLOSED, OPEN, HALF = BreakerState
COOLDOWN, FAILURES, NOW = 5, 3, 1_000.0


def fail(breaker: Breaker, epoch: int = 1) -> Breaker:
    """One failure."""
    return on_outcome(breaker, Outcome.FAILURE, epoch, FAILURES, NOW)


def opened() -> Breaker:
    """A breaker that has just opened."""
    return fail(fail(fail(Breaker())))


def half() -> Breaker:
    """A breaker that allows a probe."""
    breaker = opened()
    for _ in range(COOLDOWN):
        breaker = on_turn(breaker, COOLDOWN)
    return breaker


def test_it_opens_at_the_third_failure_in_a_row() -> None:
    """A success between starts the count anew; what is neutral doesn't count."""
    twice = fail(fail(Breaker()))
    assert (twice.state, allows_claim(twice)) == (CLOSED, True)
    assert on_outcome(twice, Outcome.SUCCESS, 2, FAILURES) == Breaker()
    assert on_outcome(twice, Outcome.NEUTRAL, 2, FAILURES) == twice
    third = fail(twice)
    assert (third.state, third.failures, allows_claim(third)) == (OPEN, 3, False)


def test_the_fifth_counted_turn_makes_it_half_open() -> None:
    """Turns while it is closed or half-open change nothing."""
    breaker = opened()
    states = []
    for _ in range(COOLDOWN + 1):
        breaker = on_turn(breaker, COOLDOWN)
        states.append(breaker.state)
    assert states == [OPEN] * 4 + [HALF] * 2
    assert on_turn(Breaker(), COOLDOWN) == Breaker()


def test_the_time_makes_it_half_open_too() -> None:
    """From the second on, whatever turns were counted before; never without a cool-down in seconds."""
    breaker = on_turn(opened(), COOLDOWN)
    assert on_time(breaker, NOW + 59.9, 60) == breaker
    assert on_time(breaker, NOW + 10**9, None) == breaker
    later = on_time(breaker, NOW + 60, 60)
    assert later == half()
    assert allows_claim(later)


def test_time_changes_only_an_open_one() -> None:
    """Closed and half-open ones stay as they are, as does one whose opening was not timed, or lies ahead."""
    untimed = on_outcome(Breaker(failures=2), Outcome.FAILURE, 1, FAILURES)
    assert untimed.state is OPEN
    for breaker in (Breaker(failures=2), half(), on_claim(half(), epoch=7), untimed):
        assert on_time(breaker, NOW + 10**9, 60) == breaker
    assert on_time(opened(), NOW - 100, 60) == opened()


def test_half_open_gives_one_probe() -> None:
    """A second claim waits until the first one's end, however that comes."""
    breaker = half()
    assert allows_claim(breaker)
    probing = on_claim(breaker, epoch=7)
    assert not allows_claim(probing)
    assert allows_claim(on_claim_end(probing, epoch=7))
    assert not allows_claim(on_claim_end(probing, epoch=6))
    assert allows_claim(on_outcome(probing, Outcome.NEUTRAL, 7, FAILURES))


def test_a_probe_decides() -> None:
    """Success closes and resets, one failure opens again."""
    probing = on_claim(half(), epoch=7)
    assert on_outcome(probing, Outcome.SUCCESS, 7, FAILURES) == Breaker()
    failed = fail(probing, epoch=7)
    assert (failed.state, failed.turns, failed.probe, failed.opened) == (OPEN, 0, 0, NOW)


def test_claims_of_a_closed_breaker_are_no_probes() -> None:
    """Any number may be given."""
    assert on_claim(Breaker(failures=2), epoch=3) == Breaker(failures=2)


steps = st.lists(
    st.sampled_from(["turn", "time", "claim", "end", "success", "failure", "neutral"]), max_size=40
)


@given(steps)
def test_in_every_run_a_success_closes_and_an_open_one_gives_nothing(run: list[str]) -> None:
    """And however it got there, turns and one success lead back to closed."""
    breaker, epoch = Breaker(), 0
    for step in run:
        if step == "turn":
            breaker = on_turn(breaker, COOLDOWN)
        elif step == "time":
            breaker = on_time(breaker, NOW + 60, 60)
        elif step == "claim" and allows_claim(breaker):
            assert breaker.state is not OPEN
            epoch += 1
            breaker = on_claim(breaker, epoch)
        elif step == "end":
            breaker = on_claim_end(breaker, epoch)
        elif step in ("success", "failure", "neutral"):
            breaker = on_outcome(breaker, Outcome(step), epoch, FAILURES, NOW)
            assert step != "success" or breaker == Breaker()
        assert breaker.state is not CLOSED or breaker.failures < FAILURES
        assert breaker.probe == 0 or breaker.state is HALF
        assert (breaker.opened is not None) == (breaker.state is OPEN)
    breaker = on_claim_end(breaker, epoch)
    for _ in range(COOLDOWN):
        breaker = on_turn(breaker, COOLDOWN)
    assert allows_claim(breaker)
