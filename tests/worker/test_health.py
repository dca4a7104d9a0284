"""A worker's health: dead only when a restart helps, ready only when it can be counted on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ebbtide_worker.health import CALM, Health
from tests.worker.test_leases import HandClock

LIVENESS = 60.0
TICK = 5.0


def health() -> tuple[Health, HandClock]:
    """A worker that has just begun, and its clock."""
    now = HandClock()
    return Health(LIVENESS, TICK, now), now


def passed(one: Health, now: HandClock, seconds: float) -> None:
    """Let time pass in which the loop turns."""
    now.now += seconds
    one.turned()


def test_a_worker_without_a_permit_for_long_is_dead() -> None:
    """And one that hears of one again is not."""
    one, now = health()
    passed(one, now, LIVENESS - 1)
    assert not one.dead()
    passed(one, now, 1)
    (why,) = one.dead()
    assert "no permit was received for 60 s" in why
    one.received()
    assert not one.dead()


def test_a_loop_that_stands_still_is_dead() -> None:
    """Whatever permits came."""
    one, now = health()
    now.now = LIVENESS
    one.received()
    (why,) = one.dead()
    assert "stood still for 60 s" in why


def test_permits_are_sent_when_none_came_for_a_while_and_more_each_time() -> None:
    """Up to a number that no fleet notices; none while some come; a dead worker sends one at a time."""
    one, now = health()
    sent = []
    for _ in range(14):
        sent.append(one.owed())
        passed(one, now, TICK)
    assert sent == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 64, 1, 1]
    one.received()
    assert one.owed() == 0
    passed(one, now, CALM * LIVENESS)
    assert one.owed() == 1


@given(steps=st.lists(st.sampled_from(["busy", "away", "permit", "silence"]), max_size=60))
def test_only_a_whole_liveness_of_unanswered_permits_is_death(steps: list[str]) -> None:
    """Time in which none could be expected does not count, and each one received begins it anew."""
    one, now = health()
    silent = 0.0
    for step in steps:
        passed(one, now, TICK)
        silent = silent + TICK if step == "silence" else 0.0
        if step == "permit":
            one.received()
        elif step != "silence":
            one.excused()
        assert bool(one.dead()) == (silent >= LIVENESS)


def test_a_worker_is_ready_once_store_and_broker_have_answered() -> None:
    """For two ticks from then on, and not while it stops, though it is alive."""
    one, now = health()
    assert len(one.unready()) == 2
    one.store_answered()
    assert "broker" in " ".join(one.unready())
    one.broker_answered()
    assert not one.unready()
    passed(one, now, 2 * TICK)
    assert not one.unready()
    passed(one, now, 0.1)
    assert len(one.unready()) == 2
    one.store_answered()
    one.broker_answered()
    one.stop()
    assert one.unready() == ("it is stopping",)
    assert not one.dead()


def test_a_dead_worker_is_not_ready() -> None:
    """It says why."""
    one, now = health()
    passed(one, now, LIVENESS)
    one.store_answered()
    one.broker_answered()
    assert one.unready() == one.dead() != ()
