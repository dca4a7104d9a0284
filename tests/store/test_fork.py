"""The scripts `fork` and `reset`: a new generation of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ebbtide_core.store.results import ClaimStatus, GuardStatus, PublishStatus
from tests.store.session import COOLDOWN, stored_breaker

if TYPE_CHECKING:
    from tests.store.clock import Database
    from tests.store.session import Driver


def test_a_fork_begins_the_next_generation(session: Driver) -> None:
    """The generation rises by one and the claim ends; records stay on offer."""
    session.turn()
    session.publish(5)
    session.claim(10)
    assert session.fork() == 1
    view = session.turn()
    assert (view.generation, view.claim, [h.version for h in view.headers]) == (1, None, [1])


@pytest.mark.parametrize("seen", [{"generation": 1}, {"incarnation": "another"}])
def test_a_fork_of_what_is_no_more_changes_nothing(session: Driver, seen: dict[str, object]) -> None:
    """Only one of several hosts that saw the same generation forks it."""
    session.turn()
    session.claim(10)
    assert session.fork(**seen) is None  # type: ignore[arg-type]
    view = session.turn()
    assert view.generation == 0
    assert view.claim is not None


def test_a_fork_without_state_is_none(session: Driver, database: Database) -> None:
    """A fork creates no state."""
    assert session.fork() is None
    assert not database.exists(session.owner.state)


def test_a_fork_fences_the_work_that_is_under_way(session: Driver) -> None:
    """A worker of the old generation is told so, and can't publish."""
    session.turn()
    session.claim(10)
    session.fork()
    assert session.guard(10) is GuardStatus.FENCED
    assert session.publish(10).status is PublishStatus.FENCED


def test_the_probe_ends_with_the_claim_at_a_fork(session: Driver, database: Database) -> None:
    """A fork gives the probe's place back, so that the breaker can't hang half-open."""
    session.turn()
    session.fail(3)
    session.turns(COOLDOWN)
    session.claim()
    session.fork()
    assert stored_breaker(database.hgetall(session.owner.state)).probe == 0
    assert session.claim(generation=1).status is ClaimStatus.OWN


def test_three_forks_within_ten_counted_turns_refuse_claims_for_the_cool_down(session: Driver) -> None:
    """Split brain is reported and refuses claims until as many turns as the cool-down were counted."""
    session.turn()
    session.fork(0)
    session.fork(1)
    assert not session.turn().split_brain
    session.fork(2)
    for _ in range(COOLDOWN - 1):
        assert session.turn().split_brain
        assert session.claim(generation=3).status is ClaimStatus.SPLIT_BRAIN
    assert not session.turn().split_brain
    assert session.claim(generation=3).status is ClaimStatus.OWN


def test_forks_ten_turns_apart_are_no_split_brain(session: Driver) -> None:
    """The third fork counts with those of the last ten turns only."""
    session.turn()
    session.fork(0)
    session.fork(1)
    session.turns(10)
    session.fork(2)
    assert not session.turn().split_brain


def test_nine_turns_later_a_fork_still_counts(session: Driver) -> None:
    """The window of ten turns includes its tenth."""
    session.turn()
    session.fork(0)
    session.fork(1)
    session.turns(9)
    session.fork(2)
    assert session.turn().split_brain


def test_a_split_brain_is_counted_from_new(session: Driver) -> None:
    """After a split brain it takes three more forks for the next."""
    session.turn()
    for generation in range(3):
        session.fork(generation)
    session.turns(COOLDOWN)
    session.fork(3)
    session.fork(4)
    assert not session.turn().split_brain
    session.fork(5)
    assert session.turn().split_brain


def test_a_reset_raises_whatever_generation_there_is(session: Driver) -> None:
    """A reset needs to have seen nothing, and ends the claim."""
    session.turn()
    session.claim(10)
    assert session.reset() == 1
    assert session.reset() == 2
    assert session.turn().claim is None


def test_a_reset_creates_the_state(session: Driver) -> None:
    """Without state, a reset begins a life of it, already at the next generation."""
    assert session.reset() == 1
    assert session.turn(fresh_incarnation="other").incarnation == "life-1"


def test_resets_are_no_forks(session: Driver) -> None:
    """A host that resets again and again is not taken for two."""
    session.turn()
    for _ in range(5):
        session.reset()
    assert not session.turn().split_brain


def test_a_reset_gives_the_probe_back(session: Driver, database: Database) -> None:
    """A probe ends with its claim at a reset too."""
    session.turn()
    session.fail(3)
    session.turns(COOLDOWN)
    session.claim()
    session.reset()
    assert stored_breaker(database.hgetall(session.owner.state)).probe == 0
