"""The breaker in Lua against the pure machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core import breaker as machine
from ebbtide_core.breaker import Breaker, Outcome
from ebbtide_core.contract.job import After
from ebbtide_core.names import Owner
from ebbtide_core.store.results import ClaimStatus
from tests.store.session import LEASE, NONE, Driver, stored_breaker

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database

SESSIONS = count()


@dataclass
class Pair:
    """A session whose breaker the pure machine follows."""

    session: Driver
    clock: Clock
    cooldown: int
    seconds: float | None
    failures: int
    pure: Breaker = field(default_factory=Breaker)
    generation: int = 0
    epoch: int = 0
    claimed: bool = False
    until: float = 0.0
    after: After = NONE

    @property
    def now(self) -> float:
        return self.clock.now_ms / 1000

    @property
    def lapsed(self) -> bool:
        return self.claimed and self.until < self.now

    def end_claim(self) -> None:
        if self.claimed:
            self.pure = machine.on_claim_end(self.pure, self.epoch)
        self.claimed = False

    def turn(self) -> None:
        self.session.turn(breaker_cooldown=self.cooldown, breaker_cooldown_seconds=self.seconds)
        self.pure = machine.on_turn(self.pure, self.cooldown)
        self.pure = machine.on_time(self.pure, self.now, self.seconds)
        if self.lapsed:
            self.end_claim()

    def claim(self) -> None:
        if self.lapsed:
            self.end_claim()
        given_now = not self.claimed and machine.allows_claim(self.pure)
        result = self.session.claim(self.after.number + 1, generation=self.generation, job_id="job")
        assert (result.status is ClaimStatus.OWN) == given_now
        if given_now:
            self.epoch += 1
            self.pure = machine.on_claim(self.pure, self.epoch)
            self.claimed, self.until = True, self.now + LEASE

    def settle(self, outcome: Outcome) -> None:
        heard = self.session.settle(
            outcome,
            job_id="job",
            epoch=self.epoch,
            generation=self.generation,
            breaker_failures=self.failures,
        )
        assert heard == self.claimed
        if self.claimed:
            self.pure = machine.on_outcome(self.pure, outcome, self.epoch, self.failures, self.now)
            self.claimed = False

    def publish(self) -> None:
        self.session.publish(self.after.number + 1, after=self.after, body="b", generation=self.generation)
        self.after = After(number=self.after.number + 1, body="b")
        self.pure = machine.on_outcome(self.pure, Outcome.SUCCESS, self.epoch, self.failures, self.now)
        self.claimed = False

    def reset(self) -> None:
        self.generation = self.session.reset()
        self.end_claim()

    def opens(self) -> None:
        for _ in range(self.failures):
            self.claim()
            self.settle(Outcome.FAILURE)

    def by_hand(self) -> None:
        assert self.session.breaker_reset()
        self.pure = Breaker()

    def wait(self) -> None:
        self.clock.advance(LEASE / 3)

    def lapse(self) -> None:
        self.clock.advance(LEASE + 1)

    def do(self, event: str) -> None:
        if event in set(Outcome):
            self.settle(Outcome(event))
        else:
            getattr(self, event)()


EVENTS = st.sampled_from(
    [
        "turn",
        "turn",
        "claim",
        "claim",
        "failure",
        "failure",
        "neutral",
        "success",
        "lapse",
        "reset",
        "publish",
        "opens",
        "opens",
        "wait",
        "wait",
        "by_hand",
    ]
)


@given(
    st.lists(EVENTS, min_size=20, max_size=40),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([LEASE / 3, LEASE / 3, LEASE, 2 * LEASE, None]),
)
def test_the_breaker_in_lua_is_the_pure_machine(
    store: SyncStore,
    clock: Clock,
    database: Database,
    events: list[str],
    cooldown: int,
    failures: int,
    seconds: float | None,
) -> None:
    """After each of any events, state, failures, turns and probe are what the pure machine says."""
    session = Driver(store, Owner.of("acme", f"s{next(SESSIONS)}"))
    pair = Pair(session, clock, cooldown, seconds, failures)
    pair.turn()
    for event in events:
        pair.do(event)
        assert stored_breaker(database.hgetall(session.owner.state)) == pair.pure, event
