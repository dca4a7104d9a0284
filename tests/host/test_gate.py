"""The gate in front of a store that does not answer."""

from __future__ import annotations

from ebbtide.gate import FIRST_PAUSE, LONGEST_PAUSE, Gate


def test_it_doubles_its_pause_up_to_a_limit_and_opens_on_success() -> None:
    """Each fault of a call made after the last one doubles the pause; a success ends it for good."""
    gate, now, pauses = Gate(), 0.0, []
    for _ in range(6):
        assert gate.enter(now)
        gate.fault(now, now)
        assert not gate.is_open(now)
        pause = next(p / 10 for p in range(1, 100) if gate.is_open(now + p / 10))
        pauses.append(pause)
        now += pause
    assert pauses == [FIRST_PAUSE, 1.0, 2.0, 4.0, LONGEST_PAUSE, LONGEST_PAUSE]
    gate.success()
    assert gate.enter(now)
    gate.fault(now, now)
    assert gate.is_open(now + FIRST_PAUSE)


def test_calls_that_met_the_same_outage_make_one_pause() -> None:
    """Eight sessions that asked at the same time close it for half a second, not for five."""
    gate = Gate()
    assert all(gate.enter(0.0) for _ in range(8))
    for n in range(8):
        gate.fault(0.0, 0.1 + n / 1000)
    assert not gate.is_open(0.1 + FIRST_PAUSE - 0.001)
    assert gate.is_open(0.1 + FIRST_PAUSE)


def test_after_a_pause_one_caller_tries_the_store_for_all() -> None:
    """The others go on without it until that one's answer is there."""
    gate = Gate()
    gate.fault(0.0, 0.0)
    assert [gate.enter(1.0) for _ in range(3)] == [True, False, False]
    gate.success()
    assert [gate.enter(1.1) for _ in range(3)] == [True, True, True]


def test_one_that_never_tells_keeps_the_others_off_for_one_more_pause() -> None:
    """A caller that was let in and asked nothing delays the others, and no longer."""
    gate = Gate()
    gate.fault(0.0, 0.0)
    assert gate.enter(1.0)
    assert not gate.enter(1.0 + FIRST_PAUSE - 0.001)
    assert gate.enter(1.0 + FIRST_PAUSE)


def test_an_open_gate_lets_everybody_in() -> None:
    """Without a fault nobody tries it for others."""
    gate = Gate()
    assert all(gate.enter(0.0) for _ in range(3))
    assert gate.is_open(0.0)
