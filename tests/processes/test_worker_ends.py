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


def test_a_stopping_worker_gives_a_job_up_that_takes_too_long(ground: Ground) -> None:
    """After its grace it settles neutral and ends; the host's next job resumes at the other worker."""
    job = halfway(ground, IN_FLIGHT)
    job.holder.ask_to_stop()
    assert job.holder.process.wait(SLOW) == 0
    assert ground.tally("a") == {"enqueued": 1, "neutral:worker_stopped": 1}
    wait_until(job.swapped, "version 1 is swapped in", SLOW)

    record = job.published()
    assert ground.tally("a") == {"enqueued": 2, "neutral:worker_stopped": 1}
    assert (job.holder.published, job.other.published) == (0, 1)
    job.check_paid_once()
    job.check_one_version(record)


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
