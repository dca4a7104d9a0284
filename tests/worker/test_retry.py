"""What follows a call that failed: one row for each kind of fault, and laws over all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_worker.retry import (
    FINAL,
    LEAST_CALL_SECONDS,
    MAX_CALLS,
    MAX_RETRY_AFTER_SECONDS,
    Again,
    Backoff,
    Following,
    Give,
    NextHop,
    Shrink,
    Step,
    Tried,
    next_step,
)
from ebbtide_worker.summarisers.base import ACCOUNT, UNREAD, FaultKind

BACKOFF = Backoff()
HALF = 0.5
SAME = Following(any=1)
"""One more hop, of the same account and no wider."""

OTHER = Following(any=1, other_account=1, wider=1)


def tried(kind: FaultKind, calls: int = 1, **more: object) -> Tried:
    """A call that failed like all before it, with time enough."""
    return replace(Tried(kind=kind, calls=calls, alike=calls, left=200.0), **more)  # type: ignore[arg-type]


def step(kind: FaultKind, calls: int = 1, **more: object) -> Step:
    """What follows it, half of the jitter drawn."""
    return next_step(tried(kind, calls, **more), BACKOFF, HALF)


@dataclass(frozen=True)
class Row:
    """A kind, how often it is met on one hop, the first steps there (half of the jitter drawn), and what
    follows on a route without another hop, with one of the same account, and with a wider one of another.
    """

    kind: FaultKind
    again: tuple[float, ...]
    alone: Step
    same: Step
    other: Step


def row(kind: FaultKind, *again: float, alone: Step | None = None, same: bool, other: bool = True) -> Row:
    """A row of the table."""
    end = Give(kind)
    return Row(kind, again, alone or end, NextHop(1) if same else end, NextHop(1) if other else end)


TABLE = (
    # the provider's trouble: 429, ramp limit; 529; 409, 500, 503 and other 5xx; no response; 408, 504, hang
    row(FaultKind.RATE_LIMITED, 0.25, 0.5, 1.0, same=False),
    row(FaultKind.OVERLOADED, 0.25, 0.5, 1.0, same=True),
    row(FaultKind.UNAVAILABLE, 0.25, 0.5, 1.0, same=True),
    row(FaultKind.CONNECTION, 0.25, 0.5, 1.0, same=True),
    row(FaultKind.TIMEOUT, 0.25, same=True),
    row(FaultKind.UNREADABLE, 0.25, same=True),
    # the account's: 401; 402 and spend limits; what is asked of it: 403, 404; nobody asked
    row(FaultKind.AUTH, same=False),
    row(FaultKind.SPEND_LIMIT, same=False),
    row(FaultKind.FORBIDDEN, same=True),
    row(FaultKind.NOT_FOUND, same=True),
    row(FaultKind.BLOCKED, same=False),
    # the request's: other 400 and 422, the tenant's day
    row(FaultKind.BAD_REQUEST, same=False, other=False),
    row(FaultKind.BUDGET, same=False, other=False),
    # too much for the window, for the API
    row(FaultKind.TOO_LONG, same=False),
    row(FaultKind.TOO_LARGE, same=False),
    # the answer's
    row(FaultKind.TRUNCATED, same=True),
    row(FaultKind.REFUSED, same=True),
    row(FaultKind.EMPTY, 0.0, same=True),
    row(FaultKind.NOT_JSON, 0.0, same=True),
    row(FaultKind.SCHEMA, 0.0, same=True),
    row(FaultKind.TOOL_CALL, 0.0, same=True),
    row(FaultKind.UNEXPECTED, 0.0, same=True),
)
SHRINKING = {FaultKind.TOO_LONG, FaultKind.TOO_LARGE, FaultKind.TRUNCATED}


def test_each_kind_has_one_row() -> None:
    """None is left to chance."""
    assert sorted(each.kind for each in TABLE) == sorted(FaultKind)


@pytest.mark.parametrize("each", TABLE, ids=lambda each: each.kind.value)
def test_a_kind_is_met_as_its_row_says(each: Row) -> None:
    """Tries on the same hop with growing waits, then what the route has."""
    for calls, after in enumerate(each.again, 1):
        assert step(each.kind, calls) == Again(after)
    last = len(each.again) + 1
    assert step(each.kind, last) == each.alone
    assert step(each.kind, last, following=SAME) == each.same
    assert step(each.kind, last, following=OTHER) == each.other


@pytest.mark.parametrize("kind", sorted(FaultKind))
def test_only_what_was_too_much_is_made_smaller(kind: FaultKind) -> None:
    """That comes before a wider hop; everything else ends as if it could not be."""
    last = len(next(each.again for each in TABLE if each.kind is kind)) + 1
    found = step(kind, last, following=OTHER, shrinkable=True)
    assert (found == Shrink()) == (kind in SHRINKING)


def test_a_wait_that_the_provider_asks_for_is_kept() -> None:
    """Never less, the jitter on top, and no more than a minute of it."""
    assert step(FaultKind.RATE_LIMITED, retry_after=30.0) == Again(30.25)
    assert step(FaultKind.OVERLOADED, retry_after=5.0) == Again(5.25)
    assert step(FaultKind.RATE_LIMITED, retry_after=3_600.0) == Again(60.25)
    assert step(FaultKind.RATE_LIMITED, retry_after=0.0) == Again(0.25)


def test_a_long_wait_comes_after_a_hop_that_need_not_wait() -> None:
    """Another account is asked at once; the same one would have to wait as long."""
    assert step(FaultKind.RATE_LIMITED, retry_after=30.0, following=OTHER) == NextHop(1)
    assert step(FaultKind.RATE_LIMITED, retry_after=30.0, following=SAME) == Again(30.25)
    assert step(FaultKind.RATE_LIMITED, retry_after=2.0, following=OTHER) == Again(2.25)


def test_no_wait_leaves_no_time_for_a_call() -> None:
    """What can't be waited for is the end here, neutral as it came, or the next hop."""
    assert step(FaultKind.RATE_LIMITED, retry_after=30.0, left=31.0) == Give(FaultKind.RATE_LIMITED)
    assert step(FaultKind.RATE_LIMITED, retry_after=30.0, left=31.25) == Again(30.25)
    assert step(FaultKind.OVERLOADED, left=1.2, following=SAME) == NextHop(1)
    assert step(FaultKind.OVERLOADED, left=0.9, following=SAME) == Give(FaultKind.OVERLOADED)


def test_waits_grow_up_to_the_cap() -> None:
    """A doubled bound each time."""
    waits = [BACKOFF.wait(calls, HALF) for calls in range(1, 8)]
    assert waits == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0, 4.0]
    assert BACKOFF.wait(10_000, HALF) == 4.0


HOPS = st.none() | st.integers(1, 8)
TRIES = st.builds(
    Tried,
    kind=st.sampled_from(FaultKind),
    calls=st.integers(1, 20),
    alike=st.integers(1, 20),
    left=st.floats(-10, 400),
    retry_after=st.none() | st.floats(0, 1e6),
    shrinkable=st.booleans(),
    following=st.builds(Following, any=HOPS, other_account=HOPS, wider=HOPS),
)
JITTER = st.floats(0, 1, exclude_max=True)


@given(TRIES, JITTER)
def test_no_wait_goes_past_the_deadline_or_below_what_was_asked(met: Tried, jitter: float) -> None:
    """Jitter is full and within its bound; after the wait there is time for a call."""
    found = next_step(met, BACKOFF, jitter)
    if isinstance(found, Again):
        asked = min(met.retry_after or 0.0, MAX_RETRY_AFTER_SECONDS)
        assert asked <= found.after <= asked + BACKOFF.cap
        assert found.after <= met.left - LEAST_CALL_SECONDS
    if met.left < LEAST_CALL_SECONDS:
        assert found == Give(met.kind)


@given(TRIES, JITTER)
def test_what_is_final_is_never_tried_again(met: Tried, jitter: float) -> None:
    """No second call of the same account for a fault that stays; the end is always of the kind met."""
    found = next_step(met, BACKOFF, jitter)
    if met.kind in FINAL:
        assert found == Give(met.kind)
    if met.kind in ACCOUNT | SHRINKING | {FaultKind.BLOCKED, FaultKind.REFUSED}:
        assert not isinstance(found, Again)
    if isinstance(found, Give):
        assert found.kind is met.kind
    if met.kind in UNREAD:
        assert found != Shrink()


@given(st.lists(st.sampled_from(FaultKind), min_size=60, max_size=60), JITTER)
def test_a_piece_is_always_done_with_its_hop(kinds: list[FaultKind], jitter: float) -> None:
    """However its calls fail, there are few of them, and their waits are bounded."""
    waited, found = 0.0, None
    for calls, kind in enumerate(kinds, 1):
        found = next_step(
            Tried(kind, calls, kinds[:calls].count(kind), left=1_000.0, shrinkable=True), BACKOFF, jitter
        )
        if not isinstance(found, Again):
            break
        waited += found.after
    assert not isinstance(found, Again)
    assert calls <= MAX_CALLS
    assert waited <= MAX_CALLS * BACKOFF.cap
