"""The scripts `dead_letters`, `dead_drop` and `jobs`: what people see of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebbtide_core import names
from ebbtide_core.contract.job import Job, Urgency
from ebbtide_core.store import fleet_calls as calls
from ebbtide_core.store.results import DeadLetter, DeathReason, JobList, JobState, ListedJob
from tests.store.fleet import LEASE, WORKER, job

if TYPE_CHECKING:
    from tests.store.clock import Clock, Database
    from tests.store.fleet import Fleet

KEPT = 1_000


def die(fleet: Fleet, clock: Clock, *jobs: Job) -> None:
    """Have the leases of jobs run out for the last time, at once."""
    fleet.put(*jobs)
    for _ in jobs:
        fleet.taken()
    clock.advance(LEASE + 1)
    assert len(fleet.sweep(max_attempts=1).lost) == len(jobs)


def listed(fleet: Fleet, limit: int = 100, tenant: str | None = None) -> JobList:
    """Call `jobs`."""
    return fleet.store.run(calls.jobs(limit, tenant))


def test_a_letter_tells_job_reason_and_time(fleet: Fleet, clock: Clock) -> None:
    """The newest first; a job that dies again has one letter."""
    assert fleet.dead() == ()
    die(fleet, clock, job("a", trace={"traceparent": "00-é"}))
    first = clock.now_ms / 1000
    die(fleet, clock, job("b", urgency=Urgency.HI))
    reason = DeathReason.LEASE_LOST_TOO_OFTEN
    one = DeadLetter(job("b", urgency=Urgency.HI), reason, clock.now_ms / 1000)
    other = DeadLetter(job("a", trace={"traceparent": "00-é"}), reason, first)
    assert fleet.dead() == (one, other)
    die(fleet, clock, job("a", epoch=2))
    assert fleet.dead() == (DeadLetter(job("a", epoch=2), reason, clock.now_ms / 1000), one)
    assert fleet.depth().dead == 2


def test_a_letter_is_taken_out_once(fleet: Fleet, clock: Clock) -> None:
    """And given back as the job that it was; an id of no letter gives none."""
    die(fleet, clock, job("a"), job("b"))
    assert fleet.store.run(calls.dead_drop("job-a")) == job("a")
    assert fleet.store.run(calls.dead_drop("job-a")) is None
    assert fleet.store.run(calls.dead_drop("")) is None
    assert [letter.job for letter in fleet.dead()] == [job("b")]


def test_the_newest_letters_are_kept(fleet: Fleet, clock: Clock, database: Database) -> None:
    """A thousand; the oldest leave both of their keys."""
    die(fleet, clock, *[job(f"s{i:04}") for i in range(10)])
    died = {f"old-{i}": 1_000_000 + i for i in range(KEPT - 10)}
    text = database.hget(names.fleet("letters"), "job-s0000")
    database.zadd(names.fleet("dead"), died)
    database.hset(names.fleet("letters"), mapping=dict.fromkeys(died, text))
    die(fleet, clock, job("x"), job("y"))
    assert fleet.depth().dead == len(fleet.dead()) == database.hlen(names.fleet("letters")) == KEPT
    assert database.zscore(names.fleet("dead"), "old-1") is None
    assert database.zscore(names.fleet("dead"), "old-2") is not None


def test_a_letter_whose_text_is_gone_is_passed_over(fleet: Fleet, clock: Clock, database: Database) -> None:
    """Where a server lost single keys, the others are told."""
    die(fleet, clock, job("a"), job("b"))
    database.hdel(names.fleet("letters"), "job-a")
    assert [letter.job for letter in fleet.dead()] == [job("b")]


def test_forgetting_a_session_takes_its_letters_along(fleet: Fleet, clock: Clock) -> None:
    """They name it; another session's stay."""
    others = job("s", "acme2", job_id="job-2"), job("s/")
    die(fleet, clock, job("s"), *others)
    assert fleet.mentions(job("s")) == 2
    fleet.forget_member(job("s"))
    assert fleet.mentions(job("s")) == 0
    assert {letter.job.owner for letter in fleet.dead()} == {other.owner for other in others}


def test_an_empty_index_lists_nothing(fleet: Fleet) -> None:
    """Neither jobs nor counts."""
    assert listed(fleet) == JobList((), 0, 0)


def test_jobs_are_listed_as_they_will_be_served(fleet: Fleet, clock: Clock) -> None:
    """By tenant, hi before lo; then those that run, with their worker; ages from when they came, or began."""
    fleet.put(job("a"), job("b"), job("c", "other"))
    clock.advance(5)
    running = fleet.taken()
    clock.advance(2)
    urgent = job("h", urgency=Urgency.HI)
    fleet.put(urgent)
    clock.advance(1)
    assert listed(fleet).jobs == (
        ListedJob(urgent, JobState.READY, 1),
        ListedJob(job("b"), JobState.READY, 8),
        ListedJob(job("c", "other"), JobState.READY, 8),
        ListedJob(running, JobState.RUNNING, 3, WORKER),
    )


def test_a_list_is_bounded_and_tells_how_many_there_are(fleet: Fleet) -> None:
    """So many of each kind; of one tenant only when asked for one."""
    fleet.put(*[job(f"s{i}") for i in range(6)], *[job(f"s{i}", "acme/") for i in range(6)])
    for _ in range(4):
        fleet.taken()
    found = listed(fleet, 3)
    assert [one.state for one in found.jobs] == [JobState.READY] * 3 + [JobState.RUNNING] * 3
    assert (found.ready, found.running) == (8, 4)
    found = listed(fleet, 1, "acme/")
    assert [one.job.tenant for one in found.jobs] == ["acme/"] * 2
    assert (found.ready, found.running) == (4, 2)
    assert listed(fleet, 0) == JobList((), 8, 4)
    assert listed(fleet, 5, "acm") == JobList((), 0, 0)
