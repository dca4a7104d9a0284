"""The ready index under any order of calls: the real scripts do what the model does, for several tenants."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule

from ebbtide_core.contract.job import Job, Urgency
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.results import TakeStatus
from tests.protocol.ground import MAX_QUEUE_AGE, RUNNING_LEASE, STATE_TTL, TICK
from tests.protocol.invariants import keys_are_tidy
from tests.protocol.machine import check
from tests.protocol.simulation import job
from tests.protocol.stores import PairedStore

TENANTS = ("a", "a/b", "ab", "é ")
SESSIONS = ("s", "b/s", "0")


jobs = st.builds(
    job,
    st.builds(Owner, st.sampled_from(TENANTS), st.sampled_from(SESSIONS)),
    incarnation=st.sampled_from(["life", "next life"]),
    generation=st.integers(0, 2),
    epoch=st.integers(1, 2),
    attempt=st.integers(0, 2),
    urgency=st.sampled_from(Urgency),
)


class Fleet(RuleBasedStateMachine):
    """Any calls; `PairedStore` compares each answer and all that is left in the index."""

    make_store: Callable[[], PairedStore]
    taken = Bundle("taken")

    def __init__(self) -> None:
        super().__init__()
        self.store = type(self).make_store()

    @rule(job=jobs, limit=st.sampled_from([None, None, 1, 2]))
    def enqueue(self, job: Job, limit: int | None) -> None:
        self.store.run(fleet_calls.enqueue, job, ttl=STATE_TTL, max_pending=limit)

    @rule(job=jobs)
    def raise_urgency(self, job: Job) -> None:
        self.store.run(fleet_calls.raise_urgency, job.owner)

    @rule(job=jobs)
    def unqueue(self, job: Job) -> None:
        self.store.run(
            fleet_calls.unqueue,
            job.owner,
            incarnation=job.incarnation,
            generation=job.generation,
            epoch=job.epoch,
        )

    @rule(job=jobs)
    def forget_member(self, job: Job) -> None:
        self.store.run(fleet_calls.mentions, job.owner)
        self.store.run(fleet_calls.forget_member, job.owner)
        assert self.store.run(fleet_calls.mentions, job.owner) == 0

    @rule(target=taken, cap=st.sampled_from([None, None, 1, 2]))
    def take(self, cap: int | None) -> object:
        result = self.store.run(
            fleet_calls.take,
            "worker é 1",
            lease=RUNNING_LEASE,
            max_queue_age=MAX_QUEUE_AGE,
            cap=cap,
            ttl=STATE_TTL,
        )
        return result.job if result.status is TakeStatus.JOB else multiple()

    @rule(job=taken)
    def renew(self, job: Job) -> None:
        self.store.run(fleet_calls.renew, job, RUNNING_LEASE)

    @rule(job=consumes(taken))
    def done(self, job: Job) -> None:
        self.store.run(fleet_calls.done, job)

    @rule()
    def sweep(self) -> None:
        self.store.run(fleet_calls.sweep, tick=TICK, max_queue_age=MAX_QUEUE_AGE, ttl=STATE_TTL)

    @rule(worker_id=st.sampled_from(["w1", "w2"]))
    def tick_lock(self, worker_id: str) -> None:
        self.store.run(fleet_calls.tick_lock, worker_id, 600.0)

    @rule()
    def depth(self) -> None:
        self.store.run(fleet_calls.depth)

    @rule(seconds=st.sampled_from([1, 6, 31, 121, -10]))
    def time(self, seconds: int) -> None:
        self.store.pass_time(seconds)

    def teardown(self) -> None:
        keys_are_tidy(self.store.lifetimes())


def test_any_calls_do_what_the_model_does(fresh_pair: Callable[[], PairedStore]) -> None:
    """The index answers and holds what the model does after each call."""
    check(type("PairedFleet", (Fleet,), {"make_store": staticmethod(fresh_pair)}), examples=20)
