"""The scripts `cancel` and `unqueue`: the compaction under way ends, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ebbtide_core.contract.job import Urgency
from ebbtide_core.store.results import CancelResult, ClaimStage, ClaimStatus, EnqueueStatus, GuardStatus
from tests.store.fleet import job
from tests.store.session import LEASE

if TYPE_CHECKING:
    from tests.store.clock import Clock, Database
    from tests.store.fleet import Fleet
    from tests.store.session import Driver


def to_stage(session: Driver, stage: ClaimStage) -> None:
    """Bring a session's first claim to a stage."""
    session.turn()
    session.claim()
    if stage is not ClaimStage.CLAIMED:
        session.queued()
    if stage is ClaimStage.RUNNING:
        session.guard()


@pytest.mark.parametrize("stage", list(ClaimStage))
def test_a_claim_of_any_stage_is_ended_and_told(session: Driver, stage: ClaimStage) -> None:
    """What was ended names the job by all that the index knows it by, and the next claim is given at once."""
    to_stage(session, stage)
    assert session.cancel() == CancelResult("job-10", "life-1", 0, 1, stage)
    assert session.turn().claim is None
    assert session.claim().status is ClaimStatus.OWN


def test_without_a_claim_nothing_is_told_or_changed(session: Driver, database: Database) -> None:
    """A session that compacts nothing, or that is not there, stays as it is."""
    assert not session.cancel().ended
    assert not database.exists(session.owner.state)
    session.turn()
    before = database.hgetall(session.owner.state)
    assert session.cancel() == CancelResult()
    assert database.hgetall(session.owner.state) == before


def test_the_worker_hears_it_at_its_next_guard(session: Driver) -> None:
    """REPLACED, also once there is a new claim: the cancelled job's epoch never comes again."""
    to_stage(session, ClaimStage.RUNNING)
    session.cancel()
    assert session.guard() is GuardStatus.REPLACED
    assert session.claim().epoch == 2
    assert session.guard() is GuardStatus.REPLACED
    assert session.guard(epoch=2) is GuardStatus.GO


def test_a_claim_that_has_run_out_is_ended_too(session: Driver, clock: Clock) -> None:
    """Its worker may go on with it for as long as nobody else claims."""
    to_stage(session, ClaimStage.RUNNING)
    clock.advance(LEASE + 1)
    assert session.cancel().ended
    assert session.guard() is GuardStatus.REPLACED


def test_failures_in_a_row_are_neither_added_nor_forgotten(session: Driver) -> None:
    """The breaker hears of no outcome."""
    session.turn()
    session.fail(2)
    session.claim()
    session.cancel()
    session.fail(1, first_epoch=4)
    assert session.turn().breaker == "open"


def test_the_cancelled_job_leaves_the_index(fleet: Fleet, database: Database) -> None:
    """And with it all that the index knew of it as ready."""
    fleet.put(job("s", epoch=3))
    assert fleet.unqueue(job("s", epoch=3))
    assert fleet.depth().ready == 0
    assert fleet.mentions(job("s")) == 0
    assert not fleet.unqueue(job("s", epoch=3))


@pytest.mark.parametrize("kept", [{"epoch": 4}, {"generation": 1}, {"incarnation": "life-2"}])
def test_a_job_of_a_later_claim_or_another_life_stays(fleet: Fleet, kept: dict[str, Any]) -> None:
    """A host may have claimed and enqueued again since the cancelled claim ended."""
    fleet.put(job("s", **{"epoch": 3, **kept}))
    assert not fleet.unqueue(job("s", epoch=3))
    assert fleet.depth().ready == 1


def test_an_attempt_put_back_leaves_the_index(fleet: Fleet) -> None:
    """Whatever its attempt number, it is of the cancelled claim."""
    fleet.put(job("s", epoch=3, attempt=2))
    assert fleet.unqueue(job("s", epoch=3))


def test_a_running_attempt_keeps_its_place(fleet: Fleet) -> None:
    """Until its worker has heard: so the tenant's cap counts what is still being paid."""
    fleet.put(job("s", epoch=3))
    running = fleet.taken()
    assert not fleet.unqueue(running)
    assert fleet.renew(running)
    assert fleet.done(running)


def test_a_session_is_forgotten_by_the_index(fleet: Fleet) -> None:
    """Its ready job, its running attempts and when it was served; another's stay."""
    fleet.put(job("s", epoch=1), job("s/", epoch=1), job("other"))
    running = [fleet.taken(), fleet.taken(), fleet.taken()]
    fleet.put(job("s", epoch=2, urgency=Urgency.HI), job("other", epoch=2))
    assert fleet.mentions(job("s")) == 7
    assert fleet.forget_member(job("s")) == (1, 1)
    assert fleet.mentions(job("s")) == 0
    assert [fleet.done(each) for each in running] == [False, True, True]
    assert fleet.drain() == ["other"]
    assert fleet.put(job("s")) is EnqueueStatus.QUEUED


def test_an_index_that_does_not_know_it_forgets_nothing(fleet: Fleet) -> None:
    """Zero of each, and no key is made."""
    assert fleet.forget_member(job("s")) == (0, 0)
    assert fleet.mentions(job("s")) == 0
