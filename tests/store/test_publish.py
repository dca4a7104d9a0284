"""The scripts `publish` and `withdraw`: numbered, immutable records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ebbtide_core.breaker import Breaker, Outcome
from ebbtide_core.contract.job import After
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.store import session_calls
from ebbtide_core.store.blob_calls import record_get
from ebbtide_core.store.results import ClaimStatus, PublishResult, PublishStatus
from tests.store.session import COOLDOWN, LEASE, NONE, TTL, at, stored_breaker

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database
    from tests.store.session import Driver

ONE = After(number=1, body="body-10")


def test_a_record_gets_the_next_number(session: Driver, store: SyncStore) -> None:
    """Publishing stores record and header and makes it the newest."""
    session.turn()
    assert session.publish(10) == PublishResult(PublishStatus.PUBLISHED, 1)
    assert session.publish(20, after=ONE) == PublishResult(PublishStatus.PUBLISHED, 2)
    view = session.turn()
    assert view.newest == After(number=2, body="body-20")
    assert view.headers[0] == RecordHeader(version=1, generation=0, position=at(10), body="body-10")
    assert store.run(record_get(session.owner, 1)) == b"\x00\xffrecord"


def test_the_claim_is_not_compared(session: Driver, clock: Clock) -> None:
    """A late valid summary wins over the claim that took its place, and frees it."""
    session.turn()
    session.claim(10)
    clock.advance(LEASE + 1)
    session.claim(12)
    assert session.publish(10).status is PublishStatus.PUBLISHED
    assert session.turn().claim is None


def test_a_publication_closes_the_breaker(session: Driver, database: Database) -> None:
    """Success resets the breaker, with a probe out or not."""
    session.turn()
    session.fail(3)
    session.turns(COOLDOWN)
    session.claim()
    session.publish(10)
    assert stored_breaker(database.hgetall(session.owner.state)) == Breaker()


@pytest.mark.parametrize("other", [{"generation": 1}, {"incarnation": "another"}])
def test_a_record_of_another_life_or_generation_is_fenced(session: Driver, other: dict[str, Any]) -> None:
    """Nothing is published into a history that it was not made for."""
    session.turn()
    assert session.publish(10, **other) == PublishResult(PublishStatus.FENCED)
    assert session.turn().headers == ()


def test_without_state_nothing_is_published(session: Driver, database: Database) -> None:
    """A worker can't bring a lost session back."""
    assert session.publish(10).status is PublishStatus.FENCED
    assert not database.exists(session.owner.state, session.owner.record(1))


def test_the_second_of_two_workers_is_superseded(session: Driver, store: SyncStore) -> None:
    """After a publication, another body after the same record is refused, and the first stays as it is."""
    session.turn()
    session.publish(10, record_bytes=b"first")
    late = session.publish(10, body="other", record_bytes=b"second")
    assert late == PublishResult(PublishStatus.SUPERSEDED)
    assert store.run(record_get(session.owner, 1)) == b"first"


def test_the_same_body_twice_is_a_duplicate(session: Driver, database: Database) -> None:
    """A repeated publication names the version and changes nothing."""
    session.turn()
    session.publish(10)
    session.claim(12)
    before = database.hgetall(session.owner.state)
    assert session.publish(10, record_bytes=b"again") == PublishResult(PublishStatus.DUPLICATE, 1)
    assert database.hgetall(session.owner.state) == before
    assert database.get(session.owner.record(1)) == b"\x00\xffrecord"


def test_a_duplicate_of_an_older_record_is_superseded(session: Driver) -> None:
    """Only the newest record is recognised as the same."""
    session.turn()
    session.publish(10)
    session.publish(20, after=ONE)
    assert session.publish(10).status is PublishStatus.SUPERSEDED


def test_the_newest_must_have_the_body_seen_at_the_claim(session: Driver) -> None:
    """A number alone is not enough: rolled-back data may have the same number with another body."""
    session.turn()
    session.publish(10, body="rolled forward again")
    assert session.publish(20, after=ONE).status is PublishStatus.SUPERSEDED


def test_a_record_behind_another_of_its_generation_is_superseded(session: Driver) -> None:
    """Records of a generation only go forward."""
    session.turn()
    session.publish(10)
    for count in (9, 10):
        assert session.publish(count, after=ONE, body="b").status is PublishStatus.SUPERSEDED
    assert session.publish(11, after=ONE).status is PublishStatus.PUBLISHED


def test_a_generation_may_begin_behind_the_last(session: Driver) -> None:
    """After a fork, a shorter position follows in number."""
    session.turn()
    session.publish(10)
    session.fork()
    result = session.publish(4, after=ONE, generation=1)
    assert result == PublishResult(PublishStatus.PUBLISHED, 2)


def test_only_the_newest_records_are_kept(session: Driver, database: Database) -> None:
    """The oldest record and its header go when one more than those kept is there."""
    session.turn()
    after = NONE
    for n in range(1, 5):
        session.publish(n, after=after, body=f"b{n}", kept=3)
        after = After(number=n, body=f"b{n}")
    assert [h.version for h in session.turn().headers] == [2, 3, 4]
    assert not database.exists(session.owner.record(1))
    assert database.exists(*[session.owner.record(n) for n in (2, 3, 4)]) == 3


def test_a_smaller_number_of_kept_records_takes_effect(session: Driver) -> None:
    """Headers beyond the number now kept all go at the next publication."""
    session.turn()
    after = NONE
    for n in range(1, 5):
        session.publish(n, after=after, body=f"b{n}", kept=5)
        after = After(number=n, body=f"b{n}")
    session.publish(5, after=after, kept=1)
    assert [h.version for h in session.turn().headers] == [5]


def test_a_header_that_does_not_follow_is_an_error(session: Driver) -> None:
    """A version that is not the next one is the caller's mistake."""
    header = RecordHeader(version=3, generation=0, position=at(10), body="b")
    with pytest.raises(ValueError, match="version 3 does not follow 1"):
        session_calls.publish(
            session.owner,
            record_bytes=b"",
            header=header,
            after=ONE,
            incarnation="life-1",
            kept=5,
            state_ttl=TTL,
        )


def test_publishing_settles(session: Driver) -> None:
    """The worker's own outcome after its publication is not counted again."""
    session.turn()
    session.claim(10)
    session.publish(10)
    assert not session.settle(Outcome.SUCCESS)
    assert session.claim(12).status is ClaimStatus.OWN


def test_a_withdrawn_record_is_flagged_and_its_number_used_up(session: Driver) -> None:
    """Hosts still see a withdrawn record, flagged; the next one gets the next number."""
    session.turn()
    session.publish(10)
    assert session.withdraw(1)
    view = session.turn()
    assert [(h.version, h.withdrawn, h.body) for h in view.headers] == [(1, True, "body-10")]
    assert view.newest == ONE
    assert session.publish(20, after=ONE).version == 2
    assert [h.withdrawn for h in session.turn().headers] == [True, False]


def test_what_is_not_kept_cannot_be_withdrawn(session: Driver, database: Database) -> None:
    """Withdrawing an unknown version, or without state, says so and creates nothing."""
    assert not session.withdraw(1)
    assert not database.exists(session.owner.state)
    session.turn()
    session.publish(10)
    assert not session.withdraw(2)


@pytest.mark.parametrize("body", ["", "with spaces in it", "é\U0001f600", "5 5:ab 1 x"])
def test_a_body_may_be_any_text(session: Driver, body: str) -> None:
    """Header and comparison hold whatever text names the body."""
    session.turn()
    header = RecordHeader(version=1, generation=0, position=at(10), body=body)
    call = session_calls.publish(
        session.owner,
        record_bytes=b"r",
        header=header,
        after=NONE,
        incarnation="life-1",
        kept=5,
        state_ttl=TTL,
    )
    assert session.store.run(call).version == 1
    assert session.store.run(call).status is PublishStatus.DUPLICATE
    assert session.turn().headers == (header,)
