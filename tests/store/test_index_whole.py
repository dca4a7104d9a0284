"""The keys of the ready index agree with one another, whatever was done to it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ebbtide_core.contract.job import Job, Urgency
from tests.store.fleet import Fleet, job

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Clock, Database

TENANTS = st.sampled_from(["a", "a/b"])
JOBS = st.builds(
    job,
    st.sampled_from(["1", "2", "0/1"]),
    TENANTS,
    epoch=st.integers(1, 3),
    attempt=st.integers(0, 1),
    incarnation=st.sampled_from(["x", "y"]),
    urgency=st.sampled_from(Urgency),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), JOBS),
    st.tuples(st.sampled_from(["raise_urgency", "unqueue", "forget_member"]), JOBS),
    st.tuples(st.just("take"), st.integers(1, 2) | st.none()),
    st.tuples(st.sampled_from(["done", "renew", "hand_back"]), st.integers(0, 9)),
    st.tuples(st.just("weigh"), st.integers(1, 3)),
    st.tuples(st.just("sweep"), st.integers(1, 3)),
    st.tuples(st.just("wait"), st.sampled_from([1, 20, 40, 130])),
)


def check_whole(database: Database) -> None:
    """Assert what must hold between the keys of the index."""

    def key(name: str) -> str:
        return f"ebbtide:1:{{fleet}}:{name}"

    places = [p.decode().split("/") for p in database.zrange(key("ready"), 0, -1)]
    ready = {f"{p[0]}/{p[4]}" for p in places}
    assert len(ready) == len(places)
    assert {m.decode() for m in database.hkeys(key("jobs"))} == ready
    assert {m.decode() for m in database.zrange(key("since"), 0, -1)} == ready
    assert {t.decode() for t in database.zrange(key("active"), 0, -1)} == {p[0] for p in places}
    running = [a.decode() for a in database.zrange(key("running"), 0, -1)]
    assert {a.decode() for a in database.hkeys(key("attempts"))} == set(running)
    assert set(running) <= {a.decode() for a in database.hkeys(key("places"))}
    load = Counter(a.split("/")[0] for a in running)
    assert {t.decode(): int(n) for t, n in database.hgetall(key("load")).items()} == load
    assert set(database.hkeys(key("credit"))) <= set(database.zrange(key("active"), 0, -1))
    assert set(database.hkeys(key("letters"))) == set(database.zrange(key("dead"), 0, -1))


def do(fleet: Fleet, clock: Clock, taken: list[Job], action: str, given_to: Any) -> None:
    """Do one step."""
    if action == "wait":
        clock.advance(given_to)
    elif action == "weigh":
        fleet.limit(None, weight=given_to)
    elif action in {"done", "renew", "hand_back"}:
        if taken:
            getattr(fleet, action)(taken[given_to % len(taken)])
    elif action == "take":
        job = fleet.take(given_to).job
        taken.extend([job] if job else [])
    else:
        getattr(fleet, action)(given_to)


@settings(max_examples=30)
@given(st.lists(STEPS, min_size=20, max_size=60))
def test_the_index_stays_whole(
    store: SyncStore, database: Database, clock: Clock, steps: list[tuple[str, Any]]
) -> None:
    """Every ready job is in all of its keys once, every active tenant has one, loads are what runs, turns are
    those of active tenants, every dead letter is whole.
    """
    database.flushdb()
    clock.write()
    fleet, taken = Fleet(store), list[Job]()
    for action, given_to in steps:
        do(fleet, clock, taken, action, given_to)
        check_whole(database)
