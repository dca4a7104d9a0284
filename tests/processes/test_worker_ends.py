"""A worker ends in the middle of a job, by kill -9 or SIGTERM: the job comes to its one version, and nothing
that is memoised is paid again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from ebbtide_core.contract.record import ChunkStatus
from ebbtide_worker.summarisers.forms import JOINED
from tests.processes.asked import Call, Gate, calls, maps
from tests.processes.ground import Ground
from tests.processes.halfway import IN_FLIGHT, WITHIN, halfway
from tests.processes.talk import MODEL, TENANT, WINDOW, chat
from tests.standin import Behaviour, Kind, Rate, Settings
from tests.standin.behaviour import Script
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

MERGE: Final = (JOINED.user.splitlines()[0],)
"""What only the merge is told."""

SLOW: Final = 60.0


@pytest.mark.parametrize("hanging", [IN_FLIGHT, MERGE], ids=["in the map", "in the merge"])
def test_the_other_worker_ends_the_job_of_one_that_was_killed(
    ground: Ground, hanging: tuple[str, ...]
) -> None:
    """The lease runs out once; the second attempt publishes from memos, and pays what was in flight again."""
    job = halfway(ground, hanging)
    job.holder.kill()
    record = job.published()

    (attempt,) = job.other.ended
    assert (attempt["attempt"], attempt["epoch"], attempt["version"]) == (1, 1, 1)
    assert ground.tally("a") == {"enqueued": 1}
    statuses = Counter(chunk.status for chunk in record.coverage)
    assert statuses[ChunkStatus.SUMMARISED] == job.lost.total()
    assert statuses[ChunkStatus.MEMOISED] == len(maps(job.before)) - job.lost.total() >= 8
    job.check_paid_once()
    job.check_one_version(record)


def test_a_host_whose_turns_go_on_gets_one_version_all_the_same(ground: Ground) -> None:
    """A turn that meets the lapsed claim claims anew, beside the old job that is put back."""
    job = halfway(ground, IN_FLIGHT)
    job.holder.kill()
    wait_until(job.swapped, "version 1 is swapped in", WITHIN)

    record = job.published()
    assert job.other.published == 1
    job.check_paid_once()
    job.check_one_version(record)


@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.parametrize("hanging", [IN_FLIGHT, MERGE], ids=["in the map", "in the merge"])
def test_a_stopping_worker_hands_a_job_back_that_takes_too_long(
    ground: Ground, hanging: tuple[str, ...], signals: int
) -> None:
    """After its grace, or at the second signal, it ends; the other worker goes on at once, without a turn of
    the host's, and pays nothing again but what was in flight. Nothing counts against the job.
    """
    job = halfway(ground, hanging)
    for _ in range(signals):
        job.holder.ask_to_stop()
    assert job.holder.process.wait(SLOW) == 0
    assert [line["reason"] for line in job.holder.ended] == ["handed_back"]

    record = job.published()
    (attempt,) = job.other.ended
    assert (attempt["epoch"], attempt["version"]) == (1, 1)
    assert ground.tally("a") == {"enqueued": 1}
    job.check_paid_once()
    job.check_one_version(record)


def test_a_worker_that_stops_while_it_waits_to_try_again_hands_its_job_back(ground: Ground) -> None:
    """The wait after a call that failed ends with the worker; the other one makes the call."""
    later = Behaviour(kind=Kind.UNAVAILABLE, retry_after=50.0, when=IN_FLIGHT[0])
    ground.standin.control.set(Settings(rates=(Rate(share=1, behaviour=later),)))
    enqueue(ground, "a")
    wait_until(
        lambda: any(call.outcome == Kind.UNAVAILABLE for call in calls(ground.standin)), "a call fails", SLOW
    )
    holder, other = ground.maker(calls(ground.standin)[0])
    wait_until(lambda: ground.memos() == len(maps(good(ground))) >= 8, "the others are memoised", SLOW)
    ground.standin.control.set(Settings(rates=()))

    for _ in range(2):
        holder.ask_to_stop()
    assert holder.process.wait(SLOW) == 0

    wait_until(lambda: ground.record("a", 1) is not None, "version 1 is published", SLOW)
    assert [line["reason"] for line in holder.ended] == ["handed_back"]
    assert other.published == 1
    assert set(Counter(call.names for call in maps(good(ground))).values()) == {1}
    assert ground.tally("a") == {"enqueued": 1}


def good(ground: Ground) -> list[Call]:
    """Return the calls that were answered."""
    return [call for call in calls(ground.standin) if call.outcome == "good"]


@pytest.fixture
def gate(ground: Ground) -> Iterator[Gate]:
    """Holds requests back."""
    ground.standin.script = gate = Gate()
    yield gate
    gate.open()
    ground.standin.script = Script()


def first_call(ground: Ground, session_id: str) -> Call:
    """Have a session's compaction enqueued, and return the first call that is made for it."""
    enqueue(ground, session_id)
    wait_until(lambda: bool(calls_for(ground, session_id)), f"session {session_id} is worked on", SLOW)
    return calls_for(ground, session_id)[0]


def enqueue(ground: Ground, session_id: str) -> None:
    """Have a session's compaction enqueued."""
    session = ground.pool.session(tenant=TENANT, session_id=session_id, model=MODEL, context_window=WINDOW)
    session.prepare(chat(session_id, 51), max_tokens=200)
    assert ground.pool.flush(30)


def calls_for(ground: Ground, session_id: str) -> list[Call]:
    """Return the calls that showed messages of a session."""
    return [c for c in calls(ground.standin) if any(f"-{session_id}_" in shown for shown in c.names)]


def test_a_stopping_worker_ends_its_job_and_takes_no_other(ground: Ground, gate: Gate) -> None:
    """It publishes what it was at and ends, while a job that waits is left to the other worker."""
    for session_id in ("a", "b"):
        gate.hold(f"MSGID-{session_id}_")
    stopping, other = ground.maker(first_call(ground, "a"))
    assert ground.maker(first_call(ground, "b")) == (other, stopping)
    enqueue(ground, "c")
    assert ground.waiting() == 1

    stopping.ask_to_stop()
    gate.let("MSGID-a_")
    assert stopping.process.wait(SLOW) == 0
    assert stopping.published == 1
    assert ground.record("a", 1) is not None
    assert ground.waiting() == 1

    gate.let("MSGID-b_")
    wait_until(lambda: other.published == 2, "the other worker did both other jobs", SLOW)
    for session_id, worker in (("a", stopping), ("b", other), ("c", other)):
        made = calls_for(ground, session_id)
        assert {call.worker for call in made} == {worker.name}
        assert set(Counter(call.names for call in maps(made)).values()) == {1}
        assert ground.record(session_id, 1) is not None
        assert ground.record(session_id, 2) is None
        assert ground.tally(session_id) == {"enqueued": 1}
