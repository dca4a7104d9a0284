"""Limiter and breaker of a provider account: the pure rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.limiter import (
    FAILURES_TO_OPEN,
    LIFTED_AFTER,
    LONGEST_PAUSE,
    PROBE_SECONDS,
    STEP,
    Account,
    Answer,
    Limit,
    Standing,
    Told,
    Verdict,
)

NOW = 1_800_000_000.0


def limited(rate: float, ceiling: float = 0.0, *, ramp: bool = False) -> Account:
    """An account with a limit of so many calls a second, felt just now, and room for one."""
    return Account(limit=Limit(rate, ceiling, cut=NOW, at=NOW, felt=NOW, level=10, issued=9, ramp=ramp))


def rate(account: Account) -> float:
    """The rate of an account that has a limit."""
    assert account.limit is not None
    return account.limit.rate


def verdict(account: Account, now: float = NOW) -> Verdict:
    """What a call hears that can wait for an hour."""
    return account.admit(now, patience=3_600)[1].verdict


def failed(times: int, account: Account | None = None, now: float = NOW) -> Account:
    """An account after failures in a row."""
    account = account or Account()
    for _ in range(times):
        account = account.told(Told.TROUBLE, now)
    return account


def test_an_account_that_was_never_limited_is_free() -> None:
    """However many calls are made."""
    account = Account()
    for n in range(100):
        account, answer = account.admit(NOW, patience=0, answered=n)
        assert answer == Answer(Verdict.FREE)
    assert account.standing(NOW) == Standing()


def test_the_first_limit_is_half_of_the_rate_lately() -> None:
    """Calls told of in the last seconds, the refused one too; the time before the first is not counted."""
    account = Account().told(Told.ANSWERED, NOW, answered=18).told(Told.LIMITED, NOW + 2)
    assert rate(account) == 0.5 * 20 / 2
    account = Account().told(Told.ANSWERED, NOW, answered=39)
    account = account.told(Told.ANSWERED, NOW + 6, answered=39).told(Told.LIMITED, NOW + 7)
    assert rate(account) == 0.5 * 81 / 7
    account = Account().told(Told.ANSWERED, NOW, answered=1_000).told(Told.LIMITED, NOW + 600)
    assert rate(account) == 0.5


def test_a_limit_is_halved_once_a_second() -> None:
    """The many that were under way meet the same limit."""
    account = limited(16)
    for at in (0.1, 0.9, 1.0, 1.1, 1.9, 2.0):
        account = account.told(Told.LIMITED, NOW + at)
    assert rate(account) == 4
    for at in range(3, 99):
        account = account.told(Told.LIMITED, NOW + at)
    assert rate(account) == pytest.approx(1 / 60)


@pytest.mark.parametrize(("asked", "pause"), [(0.0, 0.0), (7.0, 7.0), (4_000.0, LONGEST_PAUSE)])
def test_nobody_goes_before_the_provider_may_be_asked(asked: float, pause: float) -> None:
    """Not for longer than is sensible; then the first place comes due at the rate."""
    account = limited(2).told(Told.LIMITED, NOW + 1, retry_after=asked)
    account, answer = account.admit(NOW + 1, patience=99)
    assert (answer.verdict, answer.seconds) == (Verdict.WAIT, pause + 1)
    ticket, due = answer.ticket, NOW + 1 + answer.seconds
    assert account.admit(due - 0.01, ticket=ticket, patience=99)[1].verdict is Verdict.WAIT
    assert account.admit(due, ticket=ticket, patience=99)[1] == Answer(Verdict.GO)


@given(
    st.floats(0.1, 200),
    st.lists(st.tuples(st.floats(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=60),
)
def test_calls_go_at_the_rate_and_places_in_their_order(
    limit: float, events: list[tuple[float, int, bool]]
) -> None:
    """No two calls go closer than the rate allows, whoever comes back late; a place given later never comes
    due earlier.
    """
    account, now, went, places = limited(limit), NOW, [NOW - 1_000], list[int]()
    for passed, which, fresh in events:
        now += passed
        ticket = 0 if fresh or not places else places[which % len(places)]
        account, answer = account.admit(now, ticket=ticket, patience=1e9)
        if answer.verdict is Verdict.WAIT:
            places = sorted({*places, answer.ticket})
        else:
            assert now + answer.seconds - went[-1] >= 1 / limit - 0.0011
            went.append(now + answer.seconds)
            places = [place for place in places if place != ticket]
        assert account.limit is not None
        due = [account.limit.due(place, now) for place in places]
        assert due == sorted(due)


def test_a_place_keeps_its_turn_when_the_rate_changes() -> None:
    """It comes due at whatever the rate is by then."""
    account = limited(1)
    account, first = account.admit(NOW, patience=99)
    account, second = account.admit(NOW, patience=99)
    account, third = account.admit(NOW, patience=99)
    assert (first.verdict, second.seconds, third.seconds) == (Verdict.GO, 1.0, 2.0)
    account = account.told(Told.LIMITED, NOW + 1)
    assert account.admit(NOW + 1, ticket=second.ticket, patience=99)[1] == Answer(Verdict.GO)
    assert account.admit(NOW + 1, ticket=third.ticket, patience=99)[1].seconds == 2.0


def test_a_call_that_cannot_wait_gets_no_place() -> None:
    """Those after it are as early as if it had not asked."""
    account, _ = limited(1).admit(NOW, patience=0)
    account, late = account.admit(NOW, patience=0.5)
    assert (late.verdict, late.seconds, late.ticket) == (Verdict.LATE, 1.0, 0)
    assert account.admit(NOW, patience=1)[1].seconds == 1.0
    assert account.standing(NOW) == Standing(rate=1)


@pytest.mark.parametrize(
    ("account", "step"),
    [
        (limited(8), 0.3),
        (limited(8, 16), 0.3),
        (limited(8, 8.5), 0.015),
        (limited(0.5), 0.15),
        (limited(8, ramp=True), 0.075),
    ],
    ids=["no ceiling yet", "far from it", "near it", "below one", "ramp"],
)
def test_each_answered_call_raises_the_rate(account: Account, step: float) -> None:
    """Told alone or with others, as long as calls feel the limit."""
    before = rate(account)
    assert rate(account.told(Told.ANSWERED, NOW + 1)) - before == pytest.approx(step)
    assert rate(account.admit(NOW + 1, patience=9, answered=4)[0]) - before == pytest.approx(4 * step)
    assert rate(account.told(Told.ANSWERED, NOW + 6)) == before


def test_a_limit_that_nobody_feels_is_lifted() -> None:
    """Spacing alone is not felt, a wait is; so is a long one in the line of a process."""
    spaced = limited(10).admit(NOW + 30, patience=9)[0].admit(NOW + 30, patience=9)[0]
    assert verdict(spaced, NOW + LIFTED_AFTER - 1) is Verdict.GO
    assert verdict(spaced, NOW + LIFTED_AFTER) is Verdict.FREE
    for felt, until in (
        (limited(1).admit(NOW, patience=9)[0].admit(NOW + 0.5, patience=9)[0], NOW + 1),
        (limited(10).admit(NOW + 30, waited=0.2, patience=9)[0], NOW + 30),
        (limited(10).told(Told.LIMITED, NOW + 30, retry_after=9), NOW + 39),
    ):
        assert felt.standing(until + LIFTED_AFTER - 1).rate is not None
        assert felt.standing(until + LIFTED_AFTER).rate is None


def test_failures_in_a_row_shut_the_breaker_for_longer_and_longer() -> None:
    """Each time one call probes it; an answer closes it."""
    account = failed(FAILURES_TO_OPEN - 1)
    assert verdict(account) is Verdict.GO
    account, now = failed(1, account), NOW
    for seconds in (5, 10, 20, 40, 60, 60):
        answer = account.admit(now, patience=99)[1]
        assert answer == Answer(Verdict.BLOCKED, seconds, block=BlockReason.PROVIDER_DOWN)
        now += seconds
        account, probe = account.admit(now, patience=99)
        assert probe == Answer(Verdict.GO)
        assert verdict(account, now) is Verdict.BLOCKED
        probing, account = account, account.told(Told.TROUBLE, now)
    assert probing.told(Told.ANSWERED, now).free


def test_an_answer_in_between_is_no_row() -> None:
    """Whether told by itself or with what comes next."""
    for account in (
        failed(4).told(Told.ANSWERED, NOW),
        failed(4).admit(NOW, patience=0, answered=1)[0],
    ):
        assert account.free
        assert verdict(failed(4, account)) is Verdict.GO
    assert verdict(failed(4).told(Told.TROUBLE, NOW, answered=2)) is Verdict.GO


def test_a_probe_that_nothing_is_told_of_loses_its_place() -> None:
    """Its worker is dead: another call probes."""
    account = failed(FAILURES_TO_OPEN).admit(NOW + 5, patience=0)[0]
    assert account.admit(NOW + 5, patience=0)[1].seconds == 5
    assert verdict(account, NOW + 5 + PROBE_SECONDS - 0.1) is Verdict.BLOCKED
    assert verdict(account, NOW + 5 + PROBE_SECONDS) is Verdict.GO


@pytest.mark.parametrize("what", [Told.ANSWERED, Told.TROUBLE, Told.LIMITED])
def test_what_is_told_of_calls_begun_before_does_not_move_it(what: Told) -> None:
    """While it is shut nothing is let through, so it can't be of a probe."""
    account = failed(FAILURES_TO_OPEN).told(what, NOW + 4, answered=3)
    answer = account.admit(NOW + 4, patience=99)[1]
    assert (answer.verdict, answer.seconds) == (Verdict.BLOCKED, 1)


@pytest.mark.parametrize(
    ("what", "retry_after", "seconds"),
    [
        (Told.AUTH, None, (60, 120, 240, 480, 600, 600)),
        (Told.AUTH, 30.0, (30, 30)),
        (Told.SPEND_LIMIT, None, (300, 600, 600)),
        (Told.SPEND_LIMIT, 20.0, (20, 20)),
        (Told.SPEND_LIMIT, 86_400.0, (600, 600)),
        (Told.SPEND_LIMIT, 0.0, (1, 1)),
    ],
)
def test_an_account_that_may_not_be_used_is_blocked(
    what: Told, retry_after: float | None, seconds: tuple[float, ...]
) -> None:
    """At once, for as long as the provider says within bounds, else for longer and longer."""
    account, now = Account(), NOW
    for expected in seconds:
        account = account.told(what, now, retry_after=retry_after)
        answer = account.admit(now, patience=9_999)[1]
        assert answer == Answer(Verdict.BLOCKED, expected, block=BlockReason(what.value))
        now += expected
        account, probe = account.admit(now, patience=0)
        assert probe.verdict is Verdict.GO
    assert account.told(Told.ANSWERED, now).free


@pytest.mark.parametrize(
    "account",
    [
        failed(FAILURES_TO_OPEN),
        Account().told(Told.SPEND_LIMIT, NOW),
        limited(2.0).admit(NOW, patience=60)[0],
        Account().told(Told.LIMITED, NOW, retry_after=60),
    ],
    ids=["down", "spent", "limited", "paused"],
)
def test_a_clock_that_was_set_back_holds_nobody_up(account: Account) -> None:
    """What was learnt at times that have not come yet is forgotten; a small step is slept through."""
    back = NOW - 86_400.0
    here, answer = account.admit(back, patience=60)
    assert answer == Answer(Verdict.FREE)
    assert here == Account()
    assert account.standing(back) == Standing()
    assert account.standing(NOW - STEP) != Standing()


def test_a_refused_key_outweighs_a_provider_that_is_down() -> None:
    """And not the other way round."""
    account = failed(FAILURES_TO_OPEN).told(Told.AUTH, NOW + 1)
    assert account.standing(NOW + 1) == Standing(block=BlockReason.AUTH, block_seconds=60)
    assert failed(9, account, NOW + 2).gate == account.gate
    assert account.told(Told.SPEND_LIMIT, NOW + 2).gate == account.gate


def test_a_probe_that_is_limited_closes_the_breaker() -> None:
    """The provider is up; the limiter takes over."""
    account = failed(FAILURES_TO_OPEN).admit(NOW + 5, patience=0)[0].told(Told.LIMITED, NOW + 5)
    assert account.standing(NOW + 5).block is None
    assert verdict(account, NOW + 5) is Verdict.WAIT


def test_a_probe_waits_for_its_place() -> None:
    """A call that waits for the limiter does not hold the probe's."""
    account = failed(FAILURES_TO_OPEN, limited(1))
    account, first = account.admit(NOW + 5, patience=9)
    assert first.verdict is Verdict.GO
    account = account.told(Told.TROUBLE, NOW + 5.1).told(Told.LIMITED, NOW + 5.1, retry_after=30)
    account, second = account.admit(NOW + 20, patience=99)
    assert second.verdict is Verdict.WAIT
    assert account.gate.probe == 0


def test_a_standing_tells_what_holds_calls_up() -> None:
    """Rate, line, pause, and the block."""
    account = limited(2).told(Told.LIMITED, NOW + 1, retry_after=10)
    for _ in range(3):
        account, _ = account.admit(NOW + 1, patience=99)
    assert account.standing(NOW + 2) == Standing(rate=1, waiting=3, paused=9)
    assert failed(2, account, NOW + 2).standing(NOW + 2).failures == 2
    shut = failed(FAILURES_TO_OPEN, account, NOW + 2)
    assert shut.standing(NOW + 9).block is BlockReason.PROVIDER_DOWN
    assert shut.standing(NOW + 9).block_seconds == 0
