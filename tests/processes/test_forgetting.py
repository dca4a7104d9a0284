"""A session is forgotten while a worker process is half way through its job, or after it was killed there."""

from __future__ import annotations

import pytest

from ebbtide_core import names
from ebbtide_core.names import Owner
from ebbtide_core.store.forget import forget
from tests.processes.ground import Ground
from tests.processes.halfway import IN_FLIGHT, SESSION, WITHIN, halfway
from tests.processes.talk import MODEL, TENANT, WINDOW, chat
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

OWNER = Owner(TENANT, SESSION)
SHUT = 600.0


def nothing_is_left(ground: Ground) -> bool:
    """Say that no key of the session is there, no memo of its tenant holds anything, no job is known."""
    memos = ground.data.scan_iter(match=names.memo(TENANT, "*"))
    keys = list(ground.data.scan_iter(match=OWNER.pattern))
    return not keys and not any(map(ground.data.strlen, memos)) and ground.idle()


@pytest.mark.parametrize("killed", [False, True], ids=["at work", "killed"])
def test_nothing_comes_back(ground: Ground, killed: bool) -> None:
    """Neither from the worker that is at it, nor through its lease, nor through maintenance."""
    job = halfway(ground, IN_FLIGHT)
    memos = ground.memos()
    if killed:
        job.holder.kill()
    gone = forget(ground.store, OWNER, shut=SHUT)
    assert (gone.memos, gone.running, gone.ready) == (memos, 1, 0)
    assert gone.left.nothing
    assert nothing_is_left(ground)
    if not killed:
        wait_until(lambda: bool(job.holder.ended), "its worker has heard", WITHIN)
        assert job.holder.ended[0]["reason"] in ("lease_lost", "fenced")

    other = ground.pool.session(tenant=TENANT, session_id="b", model=MODEL, context_window=WINDOW)
    other.prepare(chat("b", 51), max_tokens=200)
    assert ground.pool.flush(30)
    wait_until(lambda: ground.record("b", 1) is not None, "another session's job is done", WITHIN)
    wait_until(ground.idle, "no job is left")
    assert forget(ground.store, Owner(TENANT, "b"), shut=SHUT).memos
    assert nothing_is_left(ground)
    assert job.other.published + job.holder.published == 1
