"""The script `turn`: what a host learns and what counts as a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.contract.job import After, Urgency
from ebbtide_core.store.results import ClaimStage, ClaimStatus, ClaimView, GuardStatus
from tests.store.session import COOLDOWN, LEASE, NONE, TTL, at, stored_breaker

if TYPE_CHECKING:
    from tests.store.clock import Clock, Database
    from tests.store.session import Driver


def test_a_first_turn_creates_the_state(session: Driver) -> None:
    """Without state, a turn begins a life of it with nothing published, claimed or failed."""
    view = session.turn(fresh_incarnation="first")
    assert (view.incarnation, view.generation, view.newest, view.turns) == ("first", 0, NONE, 1)
    assert (view.breaker, view.split_brain, view.claim, view.headers) == (
        BreakerState.CLOSED,
        False,
        None,
        (),
    )
    assert (view.mode, view.ratio) == (None, None)


def test_the_state_keeps_its_incarnation(session: Driver) -> None:
    """A fresh incarnation is used only where no state is."""
    session.turn(fresh_incarnation="first")
    assert session.turn(fresh_incarnation="second").incarnation == "first"


def test_lost_state_begins_another_life(session: Driver, database: Database) -> None:
    """When the state is gone, the next turn takes the fresh incarnation and numbers start anew."""
    session.turn(fresh_incarnation="first")
    session.publish()
    database.delete(session.owner.state)
    view = session.turn(fresh_incarnation="second")
    assert (view.incarnation, view.newest, view.headers) == ("second", NONE, ())


@pytest.mark.parametrize(("seqs", "counted"), [([1, 1], 1), ([2, 1], 1), ([1, 2], 2), ([0, 7, 7, 9], 3)])
def test_a_turn_counts_once_per_host_and_rising_number(
    session: Driver, seqs: list[int], counted: int
) -> None:
    """A repeated or older number of a host is answered but not counted."""
    views = [session.turn(seq=seq + 1) for seq in seqs]
    assert views[-1].turns == counted


def test_hosts_count_apart(session: Driver) -> None:
    """Each host has numbers of its own."""
    assert [session.turn(host=host, seq=1).turns for host in ("a", "b", "a")] == [1, 2, 2]


def test_sixteen_hosts_are_remembered_and_the_one_silent_longest_is_forgotten(session: Driver) -> None:
    """A seventeenth host displaces the one whose last call, counted or not, is the oldest."""
    for i in range(16):
        session.turn(host=f"h{i}", seq=5)
    session.turn(host="h0", seq=5)
    session.turn(host="new", seq=1)
    assert session.turn(host="h0", seq=5).turns == 17
    assert session.turn(host="h1", seq=5).turns == 18


def test_hosts_of_hostile_names_stay_apart(session: Driver) -> None:
    """Names that look like other fields of the state or like its separators are only names."""
    names = ["h", "h:1", "claim_job", "a b", "", "é\U0001f600", "%00", "{s}"]
    for name in names:
        session.turn(host=name, seq=3)
    assert [session.turn(host=name, seq=3).turns for name in names] == [len(names)] * len(names)


def test_an_open_breaker_becomes_half_open_at_the_fifth_counted_turn(session: Driver) -> None:
    """Only counted turns cool down, and only while the breaker is open."""
    session.turns(7)
    session.fail(3)
    for _ in range(COOLDOWN - 1):
        assert session.turn().breaker is BreakerState.OPEN
    assert session.turn(seq=1).breaker is BreakerState.OPEN
    assert session.turn().breaker is BreakerState.HALF


def test_the_claim_is_shown(session: Driver) -> None:
    """A turn tells whose claim is there, where it stands, and how far it is."""
    session.turn()
    session.claim(10, urgency=Urgency.HI)
    shown = ClaimView("job-10", 0, 1, at(10), ClaimStage.CLAIMED, Urgency.HI)
    assert session.turn().claim == shown
    session.queued()
    claim = session.turn().claim
    assert claim is not None
    assert claim.stage is ClaimStage.QUEUED
    session.guard()
    claim = session.turn().claim
    assert claim is not None
    assert claim.stage is ClaimStage.RUNNING


def test_a_claim_lives_to_the_last_moment_of_its_lease(session: Driver, clock: Clock) -> None:
    """At the end of its lease a claim is still there; a millisecond later it is gone, and free."""
    session.turn()
    session.claim(10)
    clock.advance(LEASE)
    assert session.turn().claim is not None
    clock.advance(0.001)
    assert session.turn().claim is None
    assert session.guard(10) is GuardStatus.REPLACED


def test_a_claim_that_ran_out_gives_the_probe_back(session: Driver, clock: Clock, database: Database) -> None:
    """A turn that finds the probe's claim run out lets the next claim be the probe."""
    session.turn()
    session.fail(3)
    session.turns(COOLDOWN)
    assert session.claim().epoch == 4
    assert stored_breaker(database.hgetall(session.owner.state)).probe == 4
    clock.advance(LEASE + 1)
    session.turn()
    assert stored_breaker(database.hgetall(session.owner.state)).probe == 0
    assert session.claim().status is ClaimStatus.OWN


def test_all_kept_headers_come_oldest_first(session: Driver) -> None:
    """A turn lists every kept record by number, past nine as well."""
    session.turn()
    after = NONE
    for number in range(1, 12):
        session.publish(number, after=after, body=f"b{number}")
        after = After(number=number, body=f"b{number}")
    view = session.turn()
    assert [h.version for h in view.headers] == [7, 8, 9, 10, 11]
    assert [h.position for h in view.headers] == [at(n) for n in (7, 8, 9, 10, 11)]
    assert view.newest == after


def test_a_ratio_is_kept_for_its_model(session: Driver) -> None:
    """The latest ratio of a model comes back with each turn of that model, and of no other."""
    assert session.turn(model="a", ratio=1.25).ratio == 1.25
    assert session.turn(model="b").ratio is None
    assert session.turn(model="a").ratio == 1.25
    assert session.turn(model="a", ratio=1e-7).ratio == 1e-7


def test_sixteen_ratios_are_kept(session: Driver) -> None:
    """A seventeenth model displaces the one whose ratio was stored first."""
    for i in range(17):
        session.turn(model=f"m{i}", ratio=1 + i)
    assert [session.turn(model=f"m{i}").ratio for i in (0, 1, 16)] == [None, 2, 17]


def test_a_mode_set_on_the_session_is_shown(session: Driver, database: Database) -> None:
    """The session's mode is read with the state."""
    session.turn()
    database.hset(session.owner.state, "mode", "shadow")
    assert session.turn().mode == "shadow"


def test_each_turn_renews_the_lifetime(session: Driver, database: Database) -> None:
    """A session in use never runs out, whether the turn counts or not."""
    session.turn(seq=1)
    database.pexpire(session.owner.state, 5_000)
    session.turn(seq=1)
    assert database.pttl(session.owner.state) > TTL * 1000 - 60_000


def test_settled_success_is_no_turn(session: Driver) -> None:
    """Scripts other than `turn` count no turns."""
    session.turn()
    session.claim()
    session.settle(Outcome.NEUTRAL)
    session.publish()
    assert session.turn().turns == 2
