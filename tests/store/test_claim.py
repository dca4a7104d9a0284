"""The scripts `claim`, `queued`, `guard` and `settle`: the one compaction a session may have going."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ebbtide_core.breaker import BreakerState, Outcome
from ebbtide_core.contract.job import After, Urgency
from ebbtide_core.store.results import ClaimResult, ClaimStage, ClaimStatus, GuardStatus
from tests.store.session import COOLDOWN, LEASE, NONE, at, stored_breaker

if TYPE_CHECKING:
    from tests.store.clock import Clock, Database
    from tests.store.session import Driver


def test_the_first_claim_is_given(session: Driver) -> None:
    """OWN names the epoch and the newest record at that moment."""
    session.turn()
    assert session.claim() == ClaimResult(ClaimStatus.OWN, epoch=1, after=NONE)


def test_own_tells_the_newest_record(session: Driver) -> None:
    """What a claim is given after is the newest number with its body."""
    session.turn()
    session.publish(5, body="five")
    assert session.claim(10).after == After(number=1, body="five")


@pytest.mark.parametrize("seen", [{"generation": 1}, {"incarnation": "another"}])
def test_a_claim_on_what_is_no_more_is_stale(session: Driver, seen: dict[str, Any]) -> None:
    """A host that missed a fork or a loss gets no claim."""
    session.turn()
    assert session.claim(**seen).status is ClaimStatus.STALE
    assert session.turn().claim is None


def test_a_claim_without_state_is_stale(session: Driver, database: Database) -> None:
    """A claim creates no state."""
    assert session.claim().status is ClaimStatus.STALE
    assert not database.exists(session.owner.state)


@pytest.mark.parametrize(("count", "status"), [(9, "behind"), (10, "behind"), (11, "own")])
def test_a_position_must_lie_beyond_the_records_of_the_generation(
    session: Driver, count: int, status: str
) -> None:
    """A claim at or before a kept record of the generation would publish out of order."""
    session.turn()
    session.publish(10)
    assert session.claim(count).status == status


def test_a_withdrawn_record_still_stands_in_the_order(session: Driver) -> None:
    """Withdrawing does not let an earlier position be claimed again."""
    session.turn()
    session.publish(10)
    session.withdraw(1)
    assert session.claim(10).status is ClaimStatus.BEHIND


def test_records_of_an_older_generation_do_not_count(session: Driver) -> None:
    """After a fork, shorter positions can be claimed."""
    session.turn()
    session.publish(10)
    session.fork()
    assert session.claim(4, generation=1).status is ClaimStatus.OWN


def test_a_session_has_one_claim(session: Driver) -> None:
    """A second claim is told how far the first is."""
    session.turn()
    session.claim(10)
    assert session.claim(12) == ClaimResult(ClaimStatus.BUSY, stage=ClaimStage.CLAIMED)
    session.queued(10)
    assert session.claim(12) == ClaimResult(ClaimStatus.BUSY, stage=ClaimStage.QUEUED)
    session.guard(10)
    assert session.claim(12) == ClaimResult(ClaimStatus.BUSY, stage=ClaimStage.RUNNING)


def test_a_busy_claim_takes_the_higher_urgency(session: Driver) -> None:
    """A host at hard marks the claim that is there as urgent; one below it does not take that back."""
    session.turn()
    session.claim(10)
    for asked, noted in ((Urgency.LO, Urgency.LO), (Urgency.HI, Urgency.HI), (Urgency.LO, Urgency.HI)):
        assert session.claim(12, urgency=asked).status is ClaimStatus.BUSY
        claim = session.turn().claim
        assert claim is not None
        assert claim.urgency is noted


def test_a_claim_that_ran_out_is_free(session: Driver, clock: Clock) -> None:
    """At the end of the lease a claim still holds; after it another is given, with the next epoch."""
    session.turn()
    session.claim(10)
    clock.advance(LEASE)
    assert session.claim(12).status is ClaimStatus.BUSY
    clock.advance(0.001)
    assert session.claim(12) == ClaimResult(ClaimStatus.OWN, epoch=2, after=NONE)


def test_a_record_that_could_be_swapped_now_is_used_first(session: Driver) -> None:
    """READY names the record that waits."""
    session.turn()
    session.publish(5)
    assert session.claim(10, waits=1) == ClaimResult(ClaimStatus.READY, version=1)
    assert session.turn().claim is None


@pytest.mark.parametrize(("new", "status"), [(9, "too_little"), (10, "own"), (11, "own")])
def test_little_new_is_not_worth_a_job(session: Driver, new: int, status: str) -> None:
    """Fewer new tokens than the minimum give no claim."""
    session.turn()
    assert session.claim(new_tokens=new, min_new_tokens=10).status == status


def test_the_reasons_have_an_order(session: Driver, database: Database) -> None:
    """Where several reasons hold, the one that says most to the host is told."""
    session.turn()
    session.publish(10)
    session.claim(20)
    everything: dict[str, Any] = {"waits": 1, "new_tokens": 0}
    database.hset(session.owner.state, mapping={"brk_state": "open", "split_until": 99})
    assert session.claim(9, generation=7, **everything).status is ClaimStatus.STALE
    assert session.claim(9, **everything).status is ClaimStatus.SPLIT_BRAIN
    database.hdel(session.owner.state, "split_until")
    assert session.claim(9, **everything).status is ClaimStatus.BEHIND
    assert session.claim(11, **everything).status is ClaimStatus.BUSY
    session.reset()
    assert session.claim(11, generation=1, **everything).status is ClaimStatus.READY
    assert session.claim(11, generation=1, new_tokens=0).status is ClaimStatus.TOO_LITTLE
    assert session.claim(11, generation=1).status is ClaimStatus.BREAKER_OPEN


def test_the_epoch_never_restarts(session: Driver) -> None:
    """Every claim has a higher epoch than all before it, through settling, forks and publications."""
    session.turn()
    assert session.claim(10).epoch == 1
    session.settle(Outcome.NEUTRAL)
    assert session.claim(10).epoch == 2
    session.fork()
    assert session.claim(10, generation=1).epoch == 3
    session.publish(10, generation=1)
    assert session.claim(11, generation=1).epoch == 4


def test_an_open_breaker_gives_no_claim(session: Driver) -> None:
    """Three failures in a row refuse claims until it is half-open."""
    session.turn()
    session.fail(3)
    assert session.claim().status is ClaimStatus.BREAKER_OPEN
    session.turns(COOLDOWN - 1)
    assert session.claim().status is ClaimStatus.BREAKER_OPEN
    session.turn()
    assert session.claim().status is ClaimStatus.OWN


def test_a_half_open_breaker_gives_one_probe_at_a_time(session: Driver, database: Database) -> None:
    """While a probe is out no claim is given, even if its claim is nowhere to be seen."""
    session.turn()
    session.fail(3)
    session.turns(COOLDOWN)
    session.claim()
    assert session.claim(12).status is ClaimStatus.BUSY
    database.hdel(session.owner.state, "claim_job")
    assert session.claim(12).status is ClaimStatus.BREAKER_OPEN


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.SUCCESS, BreakerState.CLOSED),
        (Outcome.FAILURE, BreakerState.OPEN),
        (Outcome.NEUTRAL, BreakerState.HALF),
    ],
)
def test_the_probe_decides(session: Driver, outcome: Outcome, state: BreakerState) -> None:
    """Success closes, failure reopens, anything else leaves room for another probe."""
    session.turn()
    session.fail(3)
    session.turns(COOLDOWN)
    session.claim()
    assert session.settle(outcome, epoch=4)
    assert session.turn().breaker is state


def test_a_failed_probe_reopens_whatever_the_threshold(session: Driver) -> None:
    """One failure is enough when half-open, even if more in a row are tolerated now."""
    session.turn()
    session.fail(3)
    session.turns(COOLDOWN)
    session.claim()
    assert session.settle(Outcome.FAILURE, epoch=4, breaker_failures=99)
    assert session.turn().breaker is BreakerState.OPEN


def test_queued_only_follows_claimed(session: Driver, clock: Clock) -> None:
    """A claim becomes queued once, by its own job and epoch, and never turns back from running."""
    session.turn()
    assert not session.queued()
    session.claim(10)
    assert not session.queued(11)
    assert not session.queued(10, epoch=2)
    assert session.queued(10, lease=100)
    assert not session.queued(10)
    clock.advance(100)
    assert session.turn().claim is not None
    session.guard(10)
    assert not session.queued(10)


def test_queued_late_renews_a_claim_that_nobody_freed(session: Driver, clock: Clock) -> None:
    """A claim that ran out stays its holder's until someone else comes."""
    session.turn()
    session.claim(10)
    clock.advance(LEASE + 1)
    assert session.queued(10)
    assert session.turn().claim is not None


def test_guard_says_go_and_renews(session: Driver, clock: Clock) -> None:
    """The attempt that holds the claim goes on, for a lease from now."""
    session.turn()
    session.claim(10)
    for _ in range(3):
        clock.advance(LEASE - 1)
        assert session.guard(10) is GuardStatus.GO
    clock.advance(LEASE)
    assert session.turn().claim is not None


def test_guard_renews_a_claim_that_ran_out_unclaimed(session: Driver, clock: Clock) -> None:
    """A late worker whose claim nobody took goes on."""
    session.turn()
    session.claim(10)
    clock.advance(LEASE + 100)
    assert session.guard(10) is GuardStatus.GO
    assert session.claim(12).status is ClaimStatus.BUSY


@pytest.mark.parametrize("other", [{"generation": 1}, {"incarnation": "another"}])
def test_guard_fences_another_life_or_generation(session: Driver, other: dict[str, Any]) -> None:
    """Work begun on what is no more is told to stop."""
    session.turn()
    session.claim(10)
    assert session.guard(10, **other) is GuardStatus.FENCED


def test_guard_without_state_fences(session: Driver, database: Database) -> None:
    """A worker whose session lost its state is told to stop, and leaves none behind."""
    assert session.guard(10) is GuardStatus.FENCED
    assert not database.exists(session.owner.state)


@pytest.mark.parametrize("after", [NONE, After(number=1, body="other"), After(number=2, body="five")])
def test_guard_sees_a_newer_record(session: Driver, after: After) -> None:
    """What was newest at the claim must still be, by number and body."""
    session.turn()
    session.publish(5, body="five")
    session.claim(10)
    assert session.guard(10, after=after) is GuardStatus.SUPERSEDED
    assert session.guard(10, after=After(number=1, body="five")) is GuardStatus.GO


def test_guard_replaces_all_but_the_claims_own_job_and_epoch(session: Driver) -> None:
    """Another job or epoch, or no claim at all, means that the work is another's."""
    session.turn()
    assert session.guard(10) is GuardStatus.REPLACED
    session.claim(10)
    assert session.guard(11) is GuardStatus.REPLACED
    assert session.guard(10, epoch=2) is GuardStatus.REPLACED
    assert session.guard(10) is GuardStatus.GO


def test_a_later_attempt_takes_the_claim_over(session: Driver) -> None:
    """Once a put-back attempt has asked, the earlier one is replaced."""
    session.turn()
    session.claim(10)
    assert session.guard(10, attempt=0) is GuardStatus.GO
    assert session.guard(10, attempt=1) is GuardStatus.GO
    assert session.guard(10, attempt=0) is GuardStatus.REPLACED
    assert session.guard(10, attempt=1) is GuardStatus.GO


def test_settle_frees_the_claim(session: Driver) -> None:
    """After the attempt's end the next claim is given."""
    session.turn()
    session.claim(10)
    assert session.settle(Outcome.NEUTRAL)
    assert session.claim(10).status is ClaimStatus.OWN


@pytest.mark.parametrize(
    "other",
    [
        {"count": 11},
        {"epoch": 2},
        {"generation": 1},
        {"incarnation": "another"},
    ],
)
def test_settle_counts_only_from_the_attempt_that_holds_the_claim(
    session: Driver, database: Database, other: dict[str, Any]
) -> None:
    """Another's outcome changes nothing at all."""
    session.turn()
    session.claim(10)
    before = database.hgetall(session.owner.state)
    assert not session.settle(Outcome.FAILURE, **other)
    assert database.hgetall(session.owner.state) == before


def test_an_attempt_that_was_replaced_is_not_heard(session: Driver) -> None:
    """Once a later attempt asked the guard, an earlier one's failure counts for nothing."""
    session.turn()
    session.claim(10)
    session.guard(attempt=1)
    assert not session.settle(Outcome.FAILURE, attempt=0)
    assert session.settle(Outcome.FAILURE, attempt=1)


def test_an_attempt_that_died_before_the_guard_is_settled_all_the_same(session: Driver) -> None:
    """The last of a job's attempts may die before it asks; its failure still ends the claim and counts."""
    session.turn()
    session.claim(10)
    session.guard(attempt=0)
    assert session.settle(Outcome.FAILURE, attempt=2)
    assert session.claim(10).status is ClaimStatus.OWN


def test_settle_counts_once(session: Driver, database: Database) -> None:
    """A repeated failure is one failure."""
    session.turn()
    session.claim(10)
    assert session.settle(Outcome.FAILURE)
    assert not session.settle(Outcome.FAILURE)
    assert stored_breaker(database.hgetall(session.owner.state)).failures == 1


def test_late_failures_of_replaced_attempts_are_not_heard(session: Driver, clock: Clock) -> None:
    """Replaced attempts that fail neither open the breaker nor free the claim of the good one."""
    session.turn()
    for _ in range(3):
        session.claim(10)
        clock.advance(LEASE + 1)
    session.claim(10)
    for epoch in (1, 2, 3):
        assert not session.settle(Outcome.FAILURE, epoch=epoch)
    view = session.turn()
    assert view.breaker is BreakerState.CLOSED
    assert view.claim is not None
    assert view.claim.epoch == 4


def test_settle_without_state_is_ignored(session: Driver, database: Database) -> None:
    """An outcome creates no state."""
    assert not session.settle(Outcome.FAILURE)
    assert not database.exists(session.owner.state)


def test_hostile_names_of_jobs_are_only_names(session: Driver) -> None:
    """A job's name may hold whatever it likes."""
    session.turn()
    for epoch, name in enumerate(["a b:{c}|/%", "é\U0001f600", "'); redis.call('FLUSHALL') --"], 1):
        assert session.claim(job_id=name, position=at(epoch)).epoch == epoch
        claim = session.turn().claim
        assert claim is not None
        assert claim.job_id == name
        assert session.guard(job_id=name, epoch=epoch) is GuardStatus.GO
        assert session.settle(Outcome.NEUTRAL, job_id=name, epoch=epoch)
