"""What people change of a session: `breaker_reset`, `set_mode`; and what a look tells of its breaker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ebbtide_core.breaker import Breaker, BreakerState, Outcome
from ebbtide_core.policy import Mode
from ebbtide_core.store import session_calls
from ebbtide_core.store.results import ClaimStatus
from tests.store.session import COOLDOWN, FAILURES, Driver, stored_breaker

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database


@pytest.fixture
def opened(session: Driver) -> Driver:
    """A session whose breaker has just opened."""
    session.turn()
    session.fail(FAILURES)
    assert session.claim().status is ClaimStatus.BREAKER_OPEN
    return session


def test_a_breaker_that_is_reset_gives_claims_at_once(opened: Driver, database: Database) -> None:
    """It is closed, and its failures are forgotten."""
    assert opened.breaker_reset()
    assert stored_breaker(database.hgetall(opened.owner.state)) == Breaker()
    assert opened.claim().status is ClaimStatus.OWN


def test_a_probe_under_way_still_counts_after_a_reset(opened: Driver) -> None:
    """Its failure is the first of a closed breaker."""
    opened.turns(COOLDOWN)
    probe = opened.claim()
    assert opened.breaker_reset()
    assert opened.settle(Outcome.FAILURE, epoch=probe.epoch)
    seen = opened.look()
    assert (seen.view.breaker, seen.failures) == (BreakerState.CLOSED, 1)


def test_a_look_tells_how_long_the_breaker_is_open(opened: Driver, clock: Clock) -> None:
    """In counted turns and in seconds; nothing of it once half-open."""
    opened.turns(2)
    clock.advance(90)
    seen = opened.look()
    assert (seen.view.breaker, seen.failures, seen.turns_open, seen.seconds_open) == (
        BreakerState.OPEN,
        FAILURES,
        2,
        90.0,
    )
    opened.turns(COOLDOWN)
    seen = opened.look()
    assert (seen.view.breaker, seen.turns_open, seen.seconds_open) == (BreakerState.HALF, 0, None)


def test_the_first_turn_after_the_seconds_finds_it_half_open(opened: Driver, clock: Clock) -> None:
    """Whether or not that turn is counted; before, it stays open, and without the seconds for good."""
    clock.advance(59.9)
    assert opened.turn(breaker_cooldown_seconds=60).breaker is BreakerState.OPEN
    clock.advance(0.1)
    assert opened.turn().breaker is BreakerState.OPEN
    assert opened.turn(seq=1, breaker_cooldown_seconds=60).breaker is BreakerState.HALF
    assert opened.claim().status is ClaimStatus.OWN


def test_a_failed_probe_begins_the_time_anew(opened: Driver, clock: Clock) -> None:
    """The seconds count from the last opening."""
    clock.advance(60)
    opened.turn(breaker_cooldown_seconds=60)
    opened.fail(1, FAILURES + 1)
    assert opened.turn(breaker_cooldown_seconds=60).breaker is BreakerState.OPEN
    assert opened.look().seconds_open == 0.0


def test_one_that_an_older_fleet_opened_waits_for_its_turns(
    opened: Driver, database: Database, clock: Clock
) -> None:
    """Nobody noted when it opened."""
    database.hdel(opened.owner.state, "brk_opened")
    clock.advance(10**6)
    assert opened.turn(breaker_cooldown_seconds=60).breaker is BreakerState.OPEN
    assert opened.look().seconds_open is None


@pytest.mark.parametrize("mode", Mode)
def test_a_mode_that_is_set_is_told_to_hosts(session: Driver, mode: Mode) -> None:
    """Until it is taken back."""
    session.turn()
    assert session.set_mode(mode)
    assert session.turn().mode == mode.value
    assert session.set_mode(None)
    assert session.turn().mode is None


def test_without_state_nothing_is_changed(session: Driver, store: SyncStore, database: Database) -> None:
    """And none is created."""
    assert not session.breaker_reset()
    assert not session.set_mode(Mode.OFF)
    assert store.run(session_calls.look(session.owner)) is None
    assert not database.exists(session.owner.state)


def test_a_time_that_an_older_fleet_left_behind_opens_nothing(
    opened: Driver, database: Database, clock: Clock
) -> None:
    """Its scripts close a breaker and leave when it opened: closed it stays, and no time is told."""
    fields = [f"brk_{name}" for name in ("state", "failures", "turns", "probe")]
    database.hdel(opened.owner.state, *fields)
    clock.advance(3_600)
    assert opened.look().seconds_open is None
    assert opened.turn(breaker_cooldown_seconds=60).breaker is BreakerState.CLOSED
    assert not database.hexists(opened.owner.state, "brk_opened")
