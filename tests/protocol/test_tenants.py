"""What tenants may have, on the real scripts: weights, caps, admission, budgets, and jobs that come back.

Each check is a function of a store. It holds on the real one, and fails on a model with one seeded fault.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbtide_core.contract.tenant import Refusal, TenantPolicy
from ebbtide_core.names import Owner
from ebbtide_core.policy import Mode
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.fleet_calls import MAX_ATTEMPTS, Paid, Spent
from ebbtide_core.store.results import EnqueueResult, EnqueueStatus, JobState, RenewStatus, TakeStatus
from tests.protocol import mutants
from tests.protocol.ground import MAX_QUEUE_AGE, RUNNING_LEASE, STATE_TTL, TICK
from tests.protocol.model_fleet import FleetModel
from tests.protocol.model_limits import DAY
from tests.protocol.simulation import job
from tests.protocol.stores import ModelStore, PairedStore, RealStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from ebbtide_core.contract.job import Job
    from ebbtide_core.store.client import SyncStore
    from ebbtide_core.store.results import TakeResult
    from tests.protocol.stores import Runs
    from tests.store.clock import Database

WORKER: Final = "w"


def put(store: Runs, tenant: str, *sessions: str, **given: Any) -> EnqueueResult:
    """Enqueue a job of each session, and return what the last was answered."""
    answers = [
        store.run(fleet_calls.enqueue, job(Owner(tenant, s), **given), ttl=STATE_TTL) for s in sessions
    ]
    return answers[-1]


def many(store: Runs, tenant: str, jobs: int) -> None:
    """Enqueue jobs of as many sessions."""
    put(store, tenant, *(f"s{i}" for i in range(jobs)))


def limit(store: Runs, tenant: str | None, **policy: Any) -> None:
    """Say what a tenant may have."""
    store.run(fleet_calls.limits_put, tenant, TenantPolicy(**policy))


def take(store: Runs, cap: int | None = None) -> TakeResult:
    """Take a job."""
    return store.run(
        fleet_calls.take, WORKER, lease=RUNNING_LEASE, max_queue_age=MAX_QUEUE_AGE, cap=cap, ttl=STATE_TTL
    )


def taken(store: Runs, jobs: int = 1, cap: int | None = None) -> list[Job]:
    """Take jobs that must be there."""
    found = [take(store, cap).job for _ in range(jobs)]
    assert None not in found
    return [one for one in found if one]


def tenants(jobs: list[Job]) -> str:
    """Return whose jobs these are; tenants of the checks are single letters."""
    return "".join(one.tenant for one in jobs)


def refused(reason: Refusal) -> EnqueueResult:
    """Return the answer to a job that is not admitted."""
    return EnqueueResult(EnqueueStatus.REFUSED, reason)


def turns_are_weighted(store: Runs) -> None:
    """A tenant takes as many jobs in a row as its weight says, others their own, the default the rest."""
    limit(store, "a", weight=3)
    limit(store, None, weight=2)
    limit(store, "c", weight=1)
    for tenant in "abc":
        many(store, tenant, 6)
    assert tenants(taken(store, 18)) == "aaabbcaaabbcbbcccc"


def a_turn_is_not_saved(store: Runs) -> None:
    """What a tenant could not take of a turn, as it had no more jobs, is gone: it goes behind the others."""
    limit(store, "a", weight=3)
    many(store, "a", 2)
    many(store, "b", 5)
    assert tenants(taken(store, 2)) == "aa"
    put(store, "a", *"wxyz")
    assert tenants(taken(store, 6)) == "baaaba"


def caps_are_of_tenants(store: Runs) -> None:
    """A tenant's own cap holds, then the default's, then the worker's; other tenants get the rest."""
    limit(store, "a", concurrency=1)
    limit(store, "b")
    for tenant in "abc":
        many(store, tenant, 4)
    limit(store, None, concurrency=3)
    assert Counter(tenants(taken(store, 6, cap=2))) == {"a": 1, "b": 2, "c": 3}
    assert take(store, cap=2).status is TakeStatus.CAPPED
    store.run(fleet_calls.limits_drop, "a")
    assert tenants(taken(store, 2, cap=2)) == "aa"
    assert take(store, cap=2).status is TakeStatus.CAPPED


def admission_is_decided(store: Runs) -> None:
    """Off, too many waiting, tokens, dollars: in this order; what is refused changes nothing."""
    limit(store, "o", mode=Mode.OFF, max_pending=0)
    limit(store, "p", max_pending=2, tokens_a_day=0)
    limit(store, "t", tokens_a_day=100, spend_a_day=0.0)
    limit(store, "s", spend_a_day=0.5, mode=Mode.SHADOW)
    assert put(store, "o", "1") == refused(Refusal.OFF)
    assert put(store, "p", "1") == refused(Refusal.TOKENS_A_DAY)
    assert put(store, "t", "1") == refused(Refusal.SPEND_A_DAY)
    limit(store, "p", max_pending=2)
    many(store, "p", 2)
    assert put(store, "p", "third") == refused(Refusal.MAX_PENDING)
    assert put(store, "s", "1").status is EnqueueStatus.QUEUED
    assert store.run(fleet_calls.depth).ready == 3


def a_replacement_waits_in_no_line(store: Runs) -> None:
    """A job that takes the place of its session's ready one is not refused for those that wait."""
    limit(store, "p", max_pending=1)
    put(store, "p", "1")
    assert put(store, "p", "1", epoch=2).status is EnqueueStatus.REPLACED
    limit(store, "p", max_pending=0)
    assert put(store, "p", "1", epoch=3).status is EnqueueStatus.REPLACED
    assert put(store, "p", "2") == refused(Refusal.MAX_PENDING)


def a_budget_is_used_up(store: Runs) -> None:
    """Renewals say so from the payment on that reached it, the next job is refused; others are not."""
    limit(store, "t", tokens_a_day=100)
    limit(store, "s", spend_a_day=0.3)
    for tenant in "ts":
        many(store, tenant, 2)
    one, other = taken(store, 2)
    paid = [Paid(99), Paid(1), Paid()]
    renewed, over = RenewStatus.RENEWED, RenewStatus.OVER_BUDGET
    assert [store.run(fleet_calls.renew, one, RUNNING_LEASE, p) for p in paid] == [renewed, over, over]
    cents = [Paid(5, 0.1)] * 3
    assert [store.run(fleet_calls.renew, other, RUNNING_LEASE, p) for p in cents] == [renewed, renewed, over]
    assert put(store, "t", "new") == refused(Refusal.TOKENS_A_DAY)
    assert put(store, "s", "s1", epoch=2) == refused(Refusal.SPEND_A_DAY)
    assert put(store, "x", "new").status is EnqueueStatus.QUEUED
    assert store.run(fleet_calls.spent, "s") == Spent(15, 0.3)


def a_budget_is_of_a_day(store: Runs) -> None:
    """From midnight UTC on the tenant may spend again, and what it spent before is told no more."""
    limit(store, "t", tokens_a_day=100)
    many(store, "t", 1)
    (one,) = taken(store)
    store.run(fleet_calls.done, one, Paid(100, 0.2))
    assert put(store, "t", "1") == refused(Refusal.TOKENS_A_DAY)
    store.pass_time(DAY)
    assert store.run(fleet_calls.spent, "t") == Spent(0, 0.0)
    assert put(store, "t", "1").status is EnqueueStatus.QUEUED
    (one,) = taken(store)
    assert store.run(fleet_calls.renew, one, RUNNING_LEASE, Paid(99)) is RenewStatus.RENEWED


def what_the_dead_paid_counts(store: Runs) -> None:
    """A payment is counted also when its attempt lost the lease, or was handed back."""
    many(store, "t", 2)
    one, other = taken(store, 2)
    store.run(fleet_calls.hand_back, other, WORKER)
    store.pass_time(RUNNING_LEASE + 1)
    sweep(store)
    assert store.run(fleet_calls.renew, one, RUNNING_LEASE, Paid(10, 0.1)) is RenewStatus.LOST
    assert not store.run(fleet_calls.done, one, Paid(1))
    assert not store.run(fleet_calls.done, other, Paid(5, 0.2))
    assert store.run(fleet_calls.spent, "t") == Spent(16, 0.3)


def what_is_handed_back_is_next(store: Runs) -> None:
    """The job stands before those that came later, or were served later, in its tenant."""
    put(store, "a", "first", "second", "third")
    one, _ = taken(store, 2)
    put(store, "a", "fourth")
    assert store.run(fleet_calls.hand_back, one, WORKER)
    assert [got.session_id for got in taken(store, 3)] == ["first", "third", "fourth"]


def a_turn_is_given_back(store: Runs) -> None:
    """The tenant whose job was handed back is served where it was, for one job; then it goes on as before."""
    for tenant in "abc":
        many(store, tenant, 3)
    one, _ = taken(store, 2)
    assert store.run(fleet_calls.hand_back, one, WORKER)
    assert tenants(taken(store, 5)) == "acbac"


def a_part_of_a_turn_is_given_back(store: Runs) -> None:
    """Of a turn of several jobs one is taken again, within the turn or after it."""
    limit(store, None, weight=3)
    for tenant in "ab":
        many(store, tenant, 9)
    one, other = taken(store, 2)
    assert store.run(fleet_calls.hand_back, one, WORKER)
    assert tenants(taken(store, 3)) == "aab"
    assert store.run(fleet_calls.hand_back, other, WORKER)
    assert tenants(taken(store, 4)) == "abba"


def sweep(store: Runs) -> int:
    """Do maintenance, and return how many jobs were given up."""
    return len(store.run(fleet_calls.sweep, tick=TICK, max_queue_age=MAX_QUEUE_AGE, ttl=STATE_TTL).lost)


def lost_leases_are_counted(store: Runs) -> None:
    """Three lost leases give a job up, and runs that were handed back between them are no leases lost."""
    many(store, "a", 1)
    for lost in range(MAX_ATTEMPTS):
        for _ in range(MAX_ATTEMPTS):
            (one,) = taken(store)
            store.run(fleet_calls.hand_back, one, WORKER)
        taken(store)
        store.pass_time(RUNNING_LEASE + 1)
        assert sweep(store) == (lost == MAX_ATTEMPTS - 1)


def what_is_given_up_has_a_letter(store: Runs) -> None:
    """With the job as it was last tried; a session that is forgotten leaves none."""
    many(store, "a", 2)
    for _ in range(MAX_ATTEMPTS):
        lost = taken(store, 2)
        store.pass_time(RUNNING_LEASE + 1)
        sweep(store)
    letters = store.run(fleet_calls.dead_letters)
    assert {letter.job.owner for letter in letters} == {one.owner for one in lost}
    assert [letter.attempts for letter in letters] == [MAX_ATTEMPTS] * 2
    store.run(fleet_calls.forget_member, lost[0].owner)
    assert [letter.job for letter in store.run(fleet_calls.dead_letters)] == [lost[1]]
    assert store.run(fleet_calls.dead_drop, lost[1].job_id) == lost[1]
    assert store.run(fleet_calls.depth).dead == 0


@dataclass(frozen=True)
class Check:
    """What must hold, and a model on which it does not."""

    holds: Callable[[Runs], None]
    wrong: type[FleetModel]

    def __str__(self) -> str:
        return f"{self.holds.__name__}-{self.wrong.__name__}"


CHECKS = [
    Check(turns_are_weighted, mutants.IgnoresWeights),
    Check(turns_are_weighted, mutants.KeepsItsTurn),
    Check(a_turn_is_not_saved, mutants.SavesItsTurn),
    Check(caps_are_of_tenants, mutants.IgnoresCaps),
    Check(admission_is_decided, mutants.AdmitsAnything),
    Check(a_replacement_waits_in_no_line, mutants.RefusesReplacements),
    Check(a_budget_is_used_up, mutants.AdmitsAnything),
    Check(a_budget_is_of_a_day, mutants.CountsForEver),
    Check(what_the_dead_paid_counts, mutants.CountsOnlyTheLiving),
    Check(what_is_handed_back_is_next, mutants.HandsBackBehind),
    Check(a_turn_is_given_back, mutants.KeepsTheTurnTaken),
    Check(a_part_of_a_turn_is_given_back, mutants.KeepsTheTurnTaken),
    Check(lost_leases_are_counted, mutants.CountsHandedBack),
    Check(what_is_given_up_has_a_letter, mutants.BuriesWithoutStone),
]


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_it_holds_on_the_real_store(check: Check, paired: PairedStore) -> None:
    """The scripts do so, and so does the model."""
    check.holds(paired)


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_the_check_finds_a_wrong_model(check: Check) -> None:
    """Each check fails when it is shown the fault that it is there for, and holds without."""
    check.holds(ModelStore())
    with pytest.raises(AssertionError):
        check.holds(ModelStore(fleet_model=check.wrong))


LOADS: Final = st.dictionaries(
    st.sampled_from("abcd"),
    st.tuples(st.integers(1, 9), st.integers(1, 4), st.none() | st.integers(1, 3)),
    min_size=1,
)
"""Tenant -> jobs, weight, cap."""


def slots_are_shared(store: Runs, load: dict[str, tuple[int, int, int | None]]) -> None:
    """Take all of a load, and look at each take for itself: no cap is passed, no slot stays empty while a
    tenant may have it, and a tenant is followed by another when its turn is over, and not before.
    """
    for tenant, (jobs, weight, cap) in load.items():
        limit(store, tenant, weight=weight, concurrency=cap)
        many(store, tenant, jobs)
    waiting = Counter({tenant: jobs for tenant, (jobs, _, _) in load.items()})
    running, in_turn = Counter[str](), Counter[str]()
    last = ""
    while +waiting:
        free = {t for t in +waiting if running[t] < (load[t][2] or len(waiting) * 9)}
        got = take(store).job
        assert (got is not None) == bool(free)
        if got is None:
            end_all(store)
            running.clear()
            continue
        assert got.tenant in free
        if last in free and len(free) > 1:
            assert (got.tenant == last) == (in_turn[last] > 0)
        last = got.tenant
        waiting[last] -= 1
        running[last] += 1
        in_turn[last] = (in_turn[last] + 1) % load[last][1] if waiting[last] else 0


def end_all(store: Runs) -> None:
    """End all attempts."""
    for listed in store.run(fleet_calls.jobs, 99).jobs:
        if listed.state is JobState.RUNNING:
            store.run(fleet_calls.done, listed.job)


@settings(max_examples=40)
@given(load=LOADS)
def test_slots_are_shared_by_weight_and_cap(
    client: SyncStore, database: Database, load: dict[str, tuple[int, int, int | None]]
) -> None:
    """Whatever waits, and whatever the tenants may have."""
    database.flushdb()
    slots_are_shared(RealStore(client, database), load)


@pytest.mark.parametrize("wrong", [mutants.IgnoresWeights, mutants.KeepsItsTurn, mutants.IgnoresCaps])
def test_unfair_sharing_is_found(wrong: type[FleetModel]) -> None:
    """The same look at each take fails on a model that shares otherwise."""
    load = {"a": (6, 2, None), "b": (6, 3, 2), "c": (2, 1, 1)}
    slots_are_shared(ModelStore(), load)
    with pytest.raises(AssertionError):
        slots_are_shared(ModelStore(fleet_model=wrong), load)
