"""A provider account's limiter and breaker in Lua against the pure rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbtide_core import names
from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.limiter import Account, Gate, Limit, Seen, Standing, Told, Verdict
from ebbtide_core.store import account_calls

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database

Event = tuple[object, ...]
"""The name of a method of `Pair`, and what it is given."""

ACCOUNTS = count()


def stored(raw: dict[bytes, bytes]) -> Account:
    """Return the account that a hash holds."""
    fields = {name.decode(): value.decode() for name, value in raw.items()}

    def number(name: str) -> float:
        return float(fields.get(name, 0))

    seen = Seen(number("seen_since"), int(number("seen_count")), int(number("seen_before")))
    block = BlockReason(fields["block"]) if "block" in fields else None
    gate = Gate(
        int(number("failures")), block, number("block_until"), number("block_seconds"), number("probe")
    )
    if "rate" not in fields:
        return Account(seen, None, gate)
    limit = Limit(
        rate=number("rate"),
        ceiling=number("ceiling"),
        cut=number("cut"),
        at=number("at"),
        felt=number("felt"),
        until=number("until"),
        spaced=number("spaced"),
        level=number("level"),
        issued=int(number("issued")),
        ramp=bool(number("ramp")),
    )
    return Account(seen, limit, gate)


@dataclass
class Pair:
    """An account in the store that the pure rules follow."""

    store: SyncStore
    clock: Clock
    name: str = field(default_factory=lambda: f"account-{next(ACCOUNTS)}")
    pure: Account = field(default_factory=Account)
    tickets: list[int] = field(default_factory=lambda: [0])

    @property
    def now(self) -> float:
        return self.clock.now_ms / 1000

    def admit(self, which: int, waited: float, patience: float, answered: int) -> None:
        """Ask with one of the places that were given, or none."""
        ticket = self.tickets[which % len(self.tickets)]
        call = account_calls.admit(
            self.name, ticket=ticket, waited=waited, patience=patience, answered=answered
        )
        answer = self.store.run(call)
        self.pure, expected = self.pure.admit(
            self.now, ticket=ticket, waited=waited, patience=patience, answered=answered
        )
        assert answer == expected
        if answer.verdict is Verdict.WAIT:
            self.tickets.append(answer.ticket)

    def tell(self, what: Told, retry_after: float | None, answered: int) -> None:
        """Tell of a call."""
        call = account_calls.told(self.name, what, retry_after=retry_after, answered=answered)
        free = self.store.run(call)
        self.pure = self.pure.told(what, self.now, retry_after=retry_after, answered=answered)
        assert free == self.pure.free

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    def follow(self, events: list[Event], database: Database) -> None:
        """Let events happen. After each, answers, state and standing are the pure ones, to the last bit."""
        for name, *given_ in events:
            getattr(self, str(name))(*given_)
            assert stored(database.hgetall(names.account(self.name))) == self.pure
            assert self.store.run(account_calls.look(self.name)) == self.pure.standing(self.now)


WAITS = st.tuples(
    st.just("wait"),
    st.sampled_from([0.001, 0.3, 1.0, 1.05, 2.0, 5.0, 5.5, 11.0])
    | st.sampled_from([54.5, 59.5, 60.0, 300.0])
    | st.sampled_from([-4.0, -5.0, -5.5, -300.0]),
)
ADMITS = st.tuples(
    st.just("admit"),
    st.integers(0, 50),
    st.sampled_from([0.0, 0.25, 7.0]),
    st.sampled_from([-1.0, 0.5, 300.0]),
    st.sampled_from([0, 0, 1, 30]),
)
LIMITS = st.tuples(
    st.just("tell"),
    st.sampled_from([Told.LIMITED, Told.LIMITED, Told.RAMPED]),
    st.none() | st.sampled_from([0.7, 59.5, 4_000.0]),
    st.sampled_from([0, 0, 30]),
)
ANSWERS = st.tuples(st.just("tell"), st.just(Told.ANSWERED), st.none(), st.sampled_from([0, 1, 9]))
TROUBLES = st.tuples(st.just("tell"), st.just(Told.TROUBLE), st.none(), st.just(0))
BLOCKS = st.tuples(
    st.just("tell"),
    st.sampled_from([Told.AUTH, Told.SPEND_LIMIT]),
    st.none() | st.sampled_from([0.0, 1.5, 550.0, 4_000.0]),
    st.just(0),
)
LIMITER = st.lists(st.one_of(ADMITS, LIMITS, ANSWERS, WAITS), max_size=60)
BREAKER = st.lists(st.one_of(ADMITS, TROUBLES, TROUBLES, TROUBLES, WAITS), max_size=60)
ACCOUNT = st.lists(st.one_of(ADMITS, LIMITS, ANSWERS, TROUBLES, BLOCKS, BLOCKS, WAITS), max_size=60)


def again(event: Event, *pauses: float) -> list[Event]:
    """An event after each of these pauses, each time with a call that asks before."""
    return [each for pause in pauses for each in (("wait", pause), ADMIT, event)]


ADMIT: Event = ("admit", 0, 0.0, 300.0, 0)
LIMITED: Event = ("tell", Told.LIMITED, None, 0)
BUSY_LIMITED: Event = ("tell", Told.LIMITED, None, 30)
ANSWERED: Event = ("tell", Told.ANSWERED, None, 0)
MANY_ANSWERED: Event = ("tell", Told.ANSWERED, None, 30)
TROUBLE: Event = ("tell", Told.TROUBLE, None, 0)

DIRECTED: dict[str, list[Event]] = {
    "down to the lowest rate": again(LIMITED, *[1.0] * 14),
    "cut once a second": again(BUSY_LIMITED, 0.0, 0.9, 0.1, 0.5, 0.55),
    "through the ceiling": [
        *again(BUSY_LIMITED, 0.0, 1.0),
        *again(ANSWERED, *[0.05] * 40),
        *[MANY_ANSWERED] * 20,
    ],
    "no rise unfelt": [LIMITED, ("wait", 4.5), ANSWERED, ("wait", 1.0), ANSWERED],
    "felt by waiting": [
        BUSY_LIMITED,
        *[("admit", 0, 0.25, 300.0, 0), ("wait", 59.5)] * 3,
        ("wait", 60.5),
        ADMIT,
    ],
    "spacing is not felt": [BUSY_LIMITED, ("wait", 30.0), ADMIT, ADMIT, ADMIT, ("wait", 30.0), ADMIT],
    "the longest pause": [("tell", Told.LIMITED, 59.5, 0), ADMIT, ("tell", Told.LIMITED, 4_000.0, 0), ADMIT],
    "rate over windows": [
        ADMIT,
        ("tell", Told.ANSWERED, None, 30),
        ("wait", 5.5),
        ANSWERED,
        ("wait", 3.0),
        LIMITED,
    ],
    "the provider is down": [TROUBLE] * 5 + again(TROUBLE, 5.0, 10.0, 20.0, 40.0, 60.0, 60.0),
    "the key is refused": again(("tell", Told.AUTH, None, 0), 0.0, 60.0, 120.0, 240.0, 480.0, 600.0, 600.0),
    "the limit is reached": again(("tell", Told.SPEND_LIMIT, None, 0), 0.0, 300.0, 600.0, 600.0),
    "a ramp": [("tell", Told.RAMPED, None, 30), MANY_ANSWERED],
    "late comers": [
        LIMITED,
        *[ADMIT] * 4,
        ("wait", 30.0),
        *[("admit", n, 9.0, 300.0, 0) for n in range(1, 5)],
    ],
    "an emptied bucket": [LIMITED, ("wait", 30.0), LIMITED, ADMIT],
    "one block after another": [("tell", Told.AUTH, None, 0), ("tell", Told.SPEND_LIMIT, None, 0), TROUBLE],
    "a block in an outage": [*[TROUBLE] * 5, ("tell", Told.SPEND_LIMIT, None, 0)],
    "a block for a moment": [("tell", Told.AUTH, 0.0, 0), ("wait", 1.0), ADMIT],
    "a probe is lost": [*[TROUBLE] * 5, ("wait", 5.0), ADMIT, ("wait", 59.5), ADMIT, ("wait", 0.5), ADMIT],
    "the clock is set back": [
        *again(LIMITED, 0.0, -5.0, -1.0),
        *[*[TROUBLE] * 5, ("wait", -5.0), ADMIT, ("wait", -1.0), ADMIT],
        *[MANY_ANSWERED, ("wait", -6.0), LIMITED],
    ],
    "an old answer": [*[TROUBLE] * 5, ("wait", 5.0), ("admit", 0, 0.0, 300.0, 9), ADMIT],
}


@pytest.mark.parametrize("events", DIRECTED.values(), ids=DIRECTED)
def test_the_account_in_lua_is_the_pure_one_at_each_border(
    store: SyncStore, clock: Clock, database: Database, events: list[Event]
) -> None:
    """Of rates, times and counts."""
    Pair(store, clock).follow(events, database)


@settings(max_examples=200)
@given(st.one_of(LIMITER, BREAKER, ACCOUNT))
def test_the_account_in_lua_is_the_pure_one(
    store: SyncStore, clock: Clock, database: Database, events: list[Event]
) -> None:
    """After any events."""
    Pair(store, clock).follow(events, database)


def test_nothing_is_kept_of_an_account_that_is_only_asked_about(store: SyncStore, database: Database) -> None:
    """It is free, and has no key."""
    assert store.run(account_calls.admit("a", ticket=0, patience=1)).verdict is Verdict.FREE
    assert store.run(account_calls.look("a")) == Standing()
    assert not database.exists(names.account("a"))


def test_accounts_are_kept_apart(store: SyncStore) -> None:
    """What one meets says nothing about another."""
    store.run(account_calls.told("a", Told.LIMITED, retry_after=30))
    store.run(account_calls.told("b", Told.AUTH))
    assert store.run(account_calls.admit("a", ticket=0, patience=60)).verdict is Verdict.WAIT
    assert store.run(account_calls.admit("b", ticket=0, patience=60)).verdict is Verdict.BLOCKED
    assert store.run(account_calls.admit("c", ticket=0, patience=60)).verdict is Verdict.FREE
