"""The ready index under any order of calls: the real scripts do what the model does, for several tenants."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, multiple, rule

from ebbtide_core.contract.job import Job, Urgency
from ebbtide_core.contract.tenant import TenantPolicy
from ebbtide_core.names import Owner
from ebbtide_core.policy import Mode
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.fleet_calls import Paid
from ebbtide_core.store.results import TakeStatus
from tests.protocol.ground import MAX_QUEUE_AGE, RUNNING_LEASE, STATE_TTL, TICK
from tests.protocol.invariants import keys_are_tidy
from tests.protocol.machine import check
from tests.protocol.simulation import job
from tests.protocol.stores import PairedStore

TENANTS = ("a", "a/b", "ab", "é ")
SESSIONS = ("s", "b/s", "0")
WORKERS = ("worker é 1", "w2")

jobs = st.builds(
    job,
    st.builds(Owner, st.sampled_from(TENANTS), st.sampled_from(SESSIONS)),
    incarnation=st.sampled_from(["life", "next life"]),
    generation=st.integers(0, 2),
    epoch=st.integers(1, 2),
    attempt=st.integers(0, 2),
    urgency=st.sampled_from(Urgency),
)


some = st.none() | st.integers(0, 3)
policies = st.builds(
    TenantPolicy,
    mode=st.sampled_from([*[Mode.ON] * 4, Mode.SHADOW, Mode.OFF]),
    concurrency=st.none() | st.integers(1, 3),
    weight=st.integers(1, 3),
    max_pending=some,
    tokens_a_day=st.sampled_from([None, None, 0, 100, 250]),
    spend_a_day=st.sampled_from([None, None, 0.0, 0.1, 0.0000015]),
)
tenants = st.sampled_from(TENANTS)
payments = st.builds(Paid, st.sampled_from([0, 0, 1, 100]), st.sampled_from([0.0, 0.0, 0.000001, 0.05]))


class Fleet(RuleBasedStateMachine):
    """Any calls; `PairedStore` compares each answer and all that is left in the index."""

    make_store: Callable[[], PairedStore]
    taken = Bundle("taken")

    def __init__(self) -> None:
        super().__init__()
        self.store = type(self).make_store()

    @rule(tenant=tenants | st.none(), policy=policies)
    def limits_put(self, tenant: str | None, policy: TenantPolicy) -> None:
        self.store.run(fleet_calls.limits_put, tenant, policy)
        self.store.run(fleet_calls.tenants)

    @rule(tenant=tenants | st.none())
    def limits_drop(self, tenant: str | None) -> None:
        self.store.run(fleet_calls.limits_drop, tenant)

    @rule(job=jobs)
    def enqueue(self, job: Job) -> None:
        self.store.run(fleet_calls.enqueue, job, ttl=STATE_TTL)

    @rule(tenant=tenants)
    def enqueue_many(self, tenant: str) -> None:
        for session in SESSIONS:
            self.enqueue(job(Owner(tenant, session)))

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

    @rule(target=taken, worker=st.sampled_from(WORKERS), cap=st.sampled_from([None, None, 1, 2]))
    def take(self, worker: str, cap: int | None) -> object:
        result = self.store.run(
            fleet_calls.take,
            worker,
            lease=RUNNING_LEASE,
            max_queue_age=MAX_QUEUE_AGE,
            cap=cap,
            ttl=STATE_TTL,
        )
        return result.job if result.status is TakeStatus.JOB else multiple()

    @rule(job=taken, paid=payments)
    def renew(self, job: Job, paid: Paid) -> None:
        self.store.run(fleet_calls.renew, job, RUNNING_LEASE, paid)

    @rule(job=consumes(taken), paid=payments)
    def done(self, job: Job, paid: Paid) -> None:
        self.store.run(fleet_calls.done, job, paid)

    @rule(job=taken, worker=st.sampled_from(WORKERS))
    def hand_back(self, job: Job, worker: str) -> None:
        self.store.run(fleet_calls.hand_back, job, worker)

    @rule(most=st.integers(1, 3))
    def sweep(self, most: int) -> None:
        self.store.run(
            fleet_calls.sweep, tick=TICK, max_attempts=most, max_queue_age=MAX_QUEUE_AGE, ttl=STATE_TTL
        )

    @rule(job=jobs)
    def dead_drop(self, job: Job) -> None:
        self.store.run(fleet_calls.dead_drop, job.job_id)

    @rule(tenant=tenants | st.none(), limit=st.integers(0, 3))
    def look(self, tenant: str | None, limit: int) -> None:
        self.store.run(fleet_calls.jobs, limit, tenant)
        self.store.run(fleet_calls.dead_letters)
        self.store.run(fleet_calls.spent, tenant or TENANTS[0])

    @rule(worker_id=st.sampled_from(["w1", "w2"]))
    def tick_lock(self, worker_id: str) -> None:
        self.store.run(fleet_calls.tick_lock, worker_id, 600.0)

    @rule()
    def depth(self) -> None:
        self.store.run(fleet_calls.depth)

    @rule(seconds=st.sampled_from([1, 6, 31, 121, 90_000, -10]))
    def time(self, seconds: int) -> None:
        self.store.pass_time(seconds)

    def teardown(self) -> None:
        keys_are_tidy(self.store.lifetimes())


def test_any_calls_do_what_the_model_does(fresh_pair: Callable[[], PairedStore]) -> None:
    """The index answers and holds what the model does after each call."""
    check(type("PairedFleet", (Fleet,), {"make_store": staticmethod(fresh_pair)}), examples=20)
