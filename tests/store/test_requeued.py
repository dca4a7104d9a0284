"""The script `requeued`: a worker that stops handed its job back to the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbtide_core.breaker import Outcome
from ebbtide_core.store.results import ClaimStage, ClaimStatus, GuardStatus
from tests.store.session import LEASE

if TYPE_CHECKING:
    from tests.store.clock import Clock, Database
    from tests.store.session import Driver

WAIT = 125.0


def test_the_claim_waits_again_as_long_as_a_queued_one(session: Driver, clock: Clock) -> None:
    """It is not free when the running lease is over, only after `lease`."""
    session.turn()
    session.claim()
    session.guard()
    assert session.requeued(lease=WAIT)
    claim = session.turn().claim
    assert claim is not None
    assert claim.stage is ClaimStage.QUEUED
    clock.advance(LEASE + 1)
    assert session.claim().status is ClaimStatus.BUSY
    clock.advance(WAIT)
    assert session.claim().status is ClaimStatus.OWN


def test_the_next_attempt_goes_on_with_another_worker(session: Driver) -> None:
    """What it ends with counts; what the one handed back says, before or after that began, does not."""
    session.turn()
    session.claim()
    session.guard(attempt=1)
    assert session.requeued(attempt=1)
    for _ in range(2):
        assert not session.settle(Outcome.NEUTRAL, attempt=1)
        assert session.guard(attempt=1) is GuardStatus.REPLACED
        assert not session.requeued(attempt=1)
        assert session.guard(attempt=2) is GuardStatus.GO
    assert session.settle(Outcome.FAILURE, attempt=2)


def test_one_handed_back_before_its_worker_asked_counts_too(session: Driver) -> None:
    """Also before the host noted that it is queued, which it may do no more."""
    session.turn()
    session.claim()
    assert session.requeued()
    assert not session.queued()


def test_another_claim_stays_as_it_is(session: Driver, database: Database) -> None:
    """Of another epoch or job, or held by a later attempt; and no state is made."""
    assert not session.requeued()
    assert not database.exists(session.owner.state)
    session.turn()
    session.claim()
    session.guard(attempt=1)
    before = database.hgetall(session.owner.state)
    assert not session.requeued(attempt=0)
    assert not session.requeued(epoch=2, attempt=1)
    assert not session.requeued(count=11, attempt=1)
    assert database.hgetall(session.owner.state) == before
