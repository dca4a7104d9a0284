"""The script `take`: whose job is next."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core import names
from ebbtide_core.contract.job import Urgency
from ebbtide_core.store.results import EnqueueStatus, TakeStatus
from tests.store.fleet import MAX_AGE, Fleet, job

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database

HI = Urgency.HI


def test_tenants_take_turns(fleet: Fleet) -> None:
    """A tenant with many jobs does not hold up one with few."""
    fleet.put(*[job(f"big{i}", "big") for i in range(5)], job("x", "small"), job("y", "tiny"))
    assert fleet.drain() == ["big0", "x", "y", "big1", "big2", "big3", "big4"]


def test_the_tenant_served_longest_ago_is_next(fleet: Fleet) -> None:
    """When it was served counts, also from before it had nothing ready."""
    fleet.put(job("1", "a"), job("2", "b"), job("3", "c"))
    assert fleet.drain() == ["1", "2", "3"]
    fleet.put(job("4", "c"), job("5", "b"), job("6", "a"), job("7", "new"))
    assert fleet.drain() == ["7", "6", "5", "4"]


def test_tenants_never_served_come_first_in_their_order(fleet: Fleet) -> None:
    """Newcomers go before all that were served, and among them who came first; names don't matter."""
    fleet.put(job("1", "z"))
    fleet.drain()
    fleet.put(job("2", "z"), job("3", "y"), job("4", "x"), job("5", "y"))
    assert fleet.drain() == ["3", "4", "2", "5"]


def test_hi_goes_before_lo_within_a_tenant_only(fleet: Fleet) -> None:
    """Urgency is a rank among a tenant's own jobs; it does not pass other tenants."""
    fleet.put(job("l1", "a"), job("h1", "a", urgency=HI), job("l2", "b"), job("h2", "a", urgency=HI))
    assert fleet.drain() == ["h1", "l2", "h2", "l1"]


def test_the_session_served_longest_ago_is_next(fleet: Fleet) -> None:
    """Within a rank, sessions never served come first in order, then who was served longest ago."""
    fleet.put(job("a"), job("b"), job("c"))
    assert fleet.drain() == ["a", "b", "c"]
    fleet.put(job("c", epoch=2), job("b", epoch=2), job("new"), job("a", epoch=2))
    assert fleet.drain() == ["new", "a", "b", "c"]


def test_urgency_goes_before_the_time_of_service(fleet: Fleet) -> None:
    """A session just served goes first again when it is urgent and the others aren't."""
    fleet.put(job("a"))
    fleet.drain()
    fleet.put(job("b"), job("a", epoch=2, urgency=HI))
    assert fleet.drain() == ["a", "b"]


def test_a_tenant_at_its_cap_is_passed_over(fleet: Fleet) -> None:
    """A capped tenant's jobs wait in their places until one of its attempts is done."""
    fleet.put(job("a1", "a"), job("a2", "a"), job("a3", "a"), job("b1", "b"))
    first = fleet.taken(cap=2)
    assert fleet.drain(cap=2) == ["b1", "a2"]
    assert fleet.take(cap=2).status is TakeStatus.CAPPED
    fleet.done(first)
    assert fleet.drain(cap=2) == ["a3"]
    assert fleet.take(cap=2).status is TakeStatus.EMPTY


def test_many_capped_tenants_are_passed_over(fleet: Fleet) -> None:
    """The one free tenant is found however many capped ones stand before it."""
    tenants = [f"t{i:03}" for i in range(70)]
    fleet.put(*[job(s, t) for t in tenants for s in ("1", "2")])
    for _ in tenants:
        fleet.taken(cap=1)
    fleet.put(job("served", "other"))
    fleet.done(fleet.taken(cap=1))
    fleet.put(job("free", "other"))
    assert fleet.drain(cap=1) == ["free"]


def test_without_a_cap_a_tenant_may_have_all(fleet: Fleet) -> None:
    """No cap means any number of attempts."""
    fleet.put(*[job(f"s{i}") for i in range(5)])
    assert len(fleet.drain(cap=None)) == 5


@pytest.mark.parametrize(("key", "known"), [("tenants", 10_000), ("sessions", 100_000)])
def test_what_is_remembered_of_the_served_is_bounded(
    fleet: Fleet, database: Database, key: str, known: int
) -> None:
    """The one served longest ago is forgotten, and so counts as never served."""
    name = f"ebbtide:1:{{fleet}}:{key}"
    database.zadd(name, {f"t{i:06}": i - known for i in range(known)})
    fleet.put(job("s"))
    fleet.taken()
    assert database.zcard(name) == known
    assert database.zscore(name, "t000000") is None
    assert database.zscore(name, "t000001") is not None


def test_a_lost_lease_lowers_the_load(fleet: Fleet, clock: Clock) -> None:
    """An attempt whose worker died does not count against the cap for ever."""
    fleet.put(job("a"), job("b"))
    fleet.taken(cap=1)
    clock.advance(31)
    fleet.sweep()
    assert fleet.drain(cap=1) == ["b"]


def test_jobs_that_waited_too_long_are_dropped_and_told(fleet: Fleet, clock: Clock) -> None:
    """Past the age a job is not given but returned, to be settled; at the age it is given still."""
    fleet.put(job("old"))
    clock.advance(0.001)
    fleet.put(job("young"))
    clock.advance(MAX_AGE)
    taken = fleet.take()
    assert taken.dropped == (job("old"),)
    assert taken.job == job("young")
    assert taken.waited == MAX_AGE
    assert fleet.depth().ready == 0


def test_dropping_all_leaves_an_empty_index(fleet: Fleet, clock: Clock, database: Database) -> None:
    """When only old jobs were there, nothing is given and no tenant stays active."""
    fleet.put(job("a", "x"), job("b", "y", urgency=HI))
    clock.advance(MAX_AGE + 1)
    taken = fleet.take()
    assert (taken.status, taken.job) == (TakeStatus.EMPTY, None)
    assert [j.session_id for j in taken.dropped] == ["a", "b"]
    assert not database.exists("ebbtide:1:{fleet}:active", "ebbtide:1:{fleet}:ready")


def test_a_torn_index_is_passed_over(fleet: Fleet, database: Database) -> None:
    """Where a server lost single keys, the jobs that are whole are still given."""
    fleet.put(job("a", "x"), job("b", "x"), job("c", "y"))
    database.hdel("ebbtide:1:{fleet}:jobs", "x/a")
    database.zadd("ebbtide:1:{fleet}:active", {"ghost": -(2**52)})
    assert fleet.drain() == ["b", "c"]
    assert fleet.take().status is TakeStatus.EMPTY


def test_under_overload_every_session_is_served(fleet: Fleet, clock: Clock) -> None:
    """Where half of the jobs wait too long and are asked for again, nobody is served far more than others."""
    sessions = [f"s{i}" for i in range(10)]
    served: Counter[str] = Counter()
    waiting: set[str] = set()
    for epoch in range(1, 61):
        for session in sessions:
            if session not in waiting:
                fleet.put(job(session, epoch=epoch))
        taken = fleet.take()
        assert taken.job is not None
        fleet.done(taken.job)
        served[taken.job.session_id] += 1
        waiting = set(sessions) - {j.session_id for j in (*taken.dropped, taken.job)}
        clock.advance(MAX_AGE / 4)
    assert all(5 <= served[session] <= 7 for session in sessions)


@given(
    jobs=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(Urgency)), min_size=1, max_size=12),
    cap=st.integers(1, 3) | st.none(),
)
def test_tenants_shares_differ_by_one_at_most(
    store: SyncStore, database: Database, clock: Clock, jobs: list[tuple[str, Urgency]], cap: int | None
) -> None:
    """While two tenants both have ready jobs and room, neither is served twice in a row."""
    database.flushdb()
    clock.write()
    fleet = Fleet(store)
    fleet.put(*[job(f"s{i}", tenant, urgency=urgency) for i, (tenant, urgency) in enumerate(jobs)])
    waiting = Counter(tenant for tenant, _ in jobs)
    running: Counter[str] = Counter()
    last = ""
    while (got := fleet.take(cap).job) is not None:
        others = [t for t in waiting if t != got.tenant and waiting[t] and (cap is None or running[t] < cap)]
        assert got.tenant != last or not others
        last = got.tenant
        waiting[last] -= 1
        running[last] += 1
    assert all(not n or (cap is not None and running[t] >= cap) for t, n in waiting.items())


def test_an_entry_that_can_not_be_read_holds_nobody_up(fleet: Fleet, database: Database) -> None:
    """A damaged job is left out by all that meet it, and its session can put another in."""
    fleet.put(job("broken"), job("sound"))
    database.hset(names.fleet("jobs"), job("broken").owner.member, "damaged")
    assert fleet.drain() == ["sound"]
    fleet.sweep()
    assert fleet.put(job("broken")) is EnqueueStatus.QUEUED
    assert fleet.drain() == ["broken"]
