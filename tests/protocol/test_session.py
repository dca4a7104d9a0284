"""A session's scripts under any calls in any order, also such as no host or worker would make."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import After, Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.lineage.chain import Position
from ebbtide_core.names import Owner
from ebbtide_core.policy import Mode
from ebbtide_core.store import blob_calls, session_calls
from tests.protocol.ground import COOLDOWN, FAILURES, STATE_TTL
from tests.protocol.invariants import keys_are_tidy
from tests.protocol.machine import check
from tests.protocol.model_session import NOTHING, State
from tests.protocol.stores import PairedStore

OWNER = Owner("tenant é", "s:{}/")
LEASE = 30.0

hosts = st.integers(0, 20).map("host {}".format)
models = st.integers(0, 20).map("model:{}".format)
ratios = st.one_of(st.none(), st.floats(0.8, 2.0))
counts = st.integers(1, 6)
cooldowns = st.none() | st.sampled_from([30, 60])
epochs = st.integers(-1, 1)
attempts = st.integers(0, 2)
nearly_always = st.sampled_from([True, True, True, True, False])


def at(count: int) -> Position:
    """Return a position; two of the same count are the same."""
    return Position(count, bytes([count] * 16))


class Session(RuleBasedStateMachine):
    """Any calls, mostly in the present life; `PairedStore` compares each answer and all that is left."""

    make_store: Callable[[], PairedStore]

    def __init__(self) -> None:
        super().__init__()
        self.store = type(self).make_store()
        self.turn("host 0", 1, "model", None)

    @property
    def state(self) -> State:
        state = self.store.state(OWNER)
        assert state is not None
        return state

    def life(self, present: bool) -> dict[str, str]:
        return {"incarnation": self.state.incarnation if present else "another"}

    def after(self, present: bool) -> After:
        return self.state.newest if present else NOTHING

    @rule(host=hosts, seq=st.integers(0, 6), model=models, ratio=ratios, cooldown_seconds=cooldowns)
    def turn(
        self, host: str, seq: int, model: str, ratio: float | None, cooldown_seconds: float | None = None
    ) -> None:
        self.store.run(
            session_calls.turn,
            OWNER,
            host=host,
            seq=seq,
            fresh_incarnation="life 1",
            model=model,
            ratio=ratio,
            state_ttl=STATE_TTL,
            breaker_cooldown=COOLDOWN,
            breaker_cooldown_seconds=cooldown_seconds,
        )

    @rule(turns=st.integers(1, COOLDOWN + 5))
    def turns(self, turns: int) -> None:
        for _ in range(turns):
            self.turn("host 0", self.state.hosts.get("host 0", 0) + 1, "model", None)

    @rule(present=nearly_always, behind=st.sampled_from([0, 0, 0, 1]))
    def fork(self, present: bool, behind: int) -> None:
        self.store.run(
            session_calls.fork,
            OWNER,
            **self.life(present),
            generation=self.state.generation - behind,
            state_ttl=STATE_TTL,
            cooldown=COOLDOWN,
        )

    @rule()
    def reset(self) -> None:
        self.store.run(session_calls.reset, OWNER, fresh_incarnation="life 2", state_ttl=STATE_TTL)

    @rule(
        present=nearly_always,
        count=counts,
        new_tokens=st.sampled_from([100, 100, 5]),
        waits=st.sampled_from([0, 0, 0, 1]),
        urgency=st.sampled_from(Urgency),
    )
    def claim(self, present: bool, count: int, new_tokens: int, waits: int, urgency: Urgency) -> None:
        self.store.run(
            session_calls.claim,
            OWNER,
            **self.life(present),
            generation=self.state.generation,
            job_id=f"job {count}",
            position=at(count),
            new_tokens=new_tokens,
            min_new_tokens=10,
            waits=waits,
            urgency=urgency,
            lease=LEASE,
            state_ttl=STATE_TTL,
        )

    @rule(count=counts, off=epochs)
    def queued(self, count: int, off: int) -> None:
        epoch = self.state.epoch + off
        self.store.run(session_calls.queued, OWNER, job_id=self.job_id(count), epoch=epoch, lease=LEASE)

    @rule(count=counts, off=epochs, attempt=attempts)
    def requeued(self, count: int, off: int, attempt: int) -> None:
        job_id, epoch = self.job_id(count), self.state.epoch + off
        self.store.run(
            session_calls.requeued, OWNER, job_id=job_id, epoch=epoch, attempt=attempt, lease=LEASE
        )

    @rule(count=counts, off=epochs, attempt=attempts, present=nearly_always)
    def guard(self, count: int, off: int, attempt: int, present: bool) -> None:
        self.store.run(
            session_calls.guard,
            OWNER,
            **self.life(True),
            generation=self.state.generation,
            job_id=self.job_id(count),
            epoch=self.state.epoch + off,
            attempt=attempt,
            after=self.after(present),
            lease=LEASE,
        )

    @rule(count=counts, present=nearly_always, kept=st.integers(1, 3), body=st.sampled_from("ab"))
    def publish(self, count: int, present: bool, kept: int, body: str) -> None:
        after = self.after(present)
        self.store.run(
            session_calls.publish,
            OWNER,
            **self.life(True),
            record_bytes=body.encode(),
            header=RecordHeader(
                version=after.number + 1,
                generation=self.state.generation,
                position=at(count),
                body=body,
            ),
            after=after,
            kept=kept,
            state_ttl=STATE_TTL,
        )

    @rule(count=counts, off=epochs, attempt=attempts, outcome=st.sampled_from(Outcome))
    def settle(self, count: int, off: int, attempt: int, outcome: Outcome) -> None:
        self.store.run(
            session_calls.settle,
            OWNER,
            **self.life(True),
            generation=self.state.generation,
            job_id=self.job_id(count),
            epoch=self.state.epoch + off,
            attempt=attempt,
            outcome=outcome,
            breaker_failures=FAILURES,
            state_ttl=STATE_TTL,
        )

    @rule(failures=st.integers(1, FAILURES))
    def fail(self, failures: int) -> None:
        for _ in range(failures):
            self.claim(True, 6, 100, 0, Urgency.LO)
            self.settle(6, 0, self.state.claim.attempt if self.state.claim else 0, Outcome.FAILURE)

    @rule()
    def cancel(self) -> None:
        self.store.run(session_calls.cancel, OWNER, state_ttl=STATE_TTL)

    @rule()
    def breaker_reset(self) -> None:
        self.store.run(session_calls.breaker_reset, OWNER)

    @rule(mode=st.none() | st.sampled_from(Mode))
    def set_mode(self, mode: Mode | None) -> None:
        self.store.run(session_calls.set_mode, OWNER, mode)

    @rule(version=st.integers(0, 4))
    def withdraw(self, version: int) -> None:
        self.store.run(session_calls.withdraw, OWNER, version)

    @rule(version=st.integers(1, 4))
    def record(self, version: int) -> None:
        self.store.run(blob_calls.record_get, OWNER, version)

    @rule(seconds=st.sampled_from([1, 29, 30, 31, -10]))
    def time(self, seconds: int) -> None:
        self.store.pass_time(seconds)

    def job_id(self, count: int) -> str:
        """Return mostly the claimed job, for the higher counts another."""
        claim = self.state.claim
        return claim.job_id if claim and count < 5 else f"job {count}"

    def teardown(self) -> None:
        keys_are_tidy(self.store.lifetimes())


def test_any_calls_do_what_the_model_does(fresh_pair: Callable[[], PairedStore]) -> None:
    """The session answers and holds what the model does after each call."""
    check(type("PairedSession", (Session,), {"make_store": staticmethod(fresh_pair)}), examples=25)
