"""The server is killed, or loses all data, while hosts turn and workers work: all go on, nobody is
restarted.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Final

import pytest

from tests.processes.asked import calls, maps
from tests.processes.ground import Ground
from tests.processes.talk import RULE, names
from tests.standin import Settings
from tests.waiting import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

SLOW: Final = 90.0
HOSTS: Final = 3


@pytest.fixture
def busy(shared: Ground) -> Ground:
    """The file's ground with its hosts in their loop, each of which has swapped, and a worker in a job."""
    if not shared.hosts:
        shared.standin.control.set(Settings(latency=0.2, jitter=0.2, seed=1))
        shared.start_hosts(HOSTS)
    wait_for(shared, lambda: all(host.swaps for host in shared.hosts), "every host has swapped")
    wait_for(shared, lambda: shared.running() > 0, "a worker is in a job")
    return shared


def kill_and_await_turns(ground: Ground) -> None:
    """Kill the server; a host meets that and tells the others, and all go on for some turns."""
    faults = sum(host.store_faults for host in ground.hosts)
    ground.server.kill()
    wait_for(
        ground, lambda: sum(h.store_faults for h in ground.hosts) > faults, "a host meets the dead server"
    )
    turns = {host.session_id: host.turns for host in ground.hosts}
    wait_for(
        ground,
        lambda: all(host.turns > turns[host.session_id] + 5 for host in ground.hosts),
        "turns go on without a server",
    )


def wait_for(ground: Ground, predicate: Callable[[], bool], description: str) -> None:
    """Wait while no host raises."""

    def holds() -> bool:
        assert [error for host in ground.hosts for error in host.raised] == []
        return predicate()

    wait_until(holds, description, SLOW)


def check_all_go_on(ground: Ground) -> None:
    """Each host swaps in a version made from now on, and the workers that there were publish such ones."""
    since = time.time()
    published = {worker.name: worker.published for worker in ground.workers}

    def made_anew() -> bool:
        swapped = all(host.swaps[-1].record.created_at > since for host in ground.hosts)
        return swapped and all(worker.published > published[worker.name] for worker in ground.workers)

    wait_for(ground, made_anew, "every host has a new version, every worker made one")
    assert all(worker.alive for worker in ground.workers)
    check_nothing_was_lost(ground)


def check_nothing_was_lost(ground: Ground) -> None:
    """Each message was shown to the model or is still in its host's buffer."""
    kept = {host.session_id: host.kept() for host in ground.hosts}
    shown = {name for call in maps(calls(ground.standin)) if call.outcome == "good" for name in call.names}
    for session_id, (said, tail) in kept.items():
        replaced = said - len(tail)
        assert replaced > 0
        assert tail == names(session_id, replaced, said)
        assert set(names(session_id, 0, replaced)) <= shown


def test_a_server_that_comes_back_with_its_data_finds_everybody_at_work(busy: Ground) -> None:
    """Turns go on without it; then sessions and their version numbers go on, through the same processes."""
    lives = [host.incarnation for host in busy.hosts]
    before = [len(host.swaps) for host in busy.hosts]

    kill_and_await_turns(busy)
    busy.server.start()
    check_all_go_on(busy)

    assert [host.incarnation for host in busy.hosts] == lives
    for host, swaps in zip(busy.hosts, before, strict=True):
        versions = [swap.version for swap in host.swaps[swaps - 1 :]]
        assert versions == sorted(set(versions))


@pytest.mark.parametrize("how", ["killed", "emptied"])
def test_hosts_go_on_from_their_buffers_when_all_data_is_lost(busy: Ground, how: str) -> None:
    """The first records of the new life build on the summaries that the hosts hold."""
    lives = [host.incarnation for host in busy.hosts]

    if how == "killed":
        kill_and_await_turns(busy)
        shutil.rmtree(busy.server.data_dir / "appendonlydir")
        busy.server.start()
    else:
        busy.data.flushall()
    check_all_go_on(busy)

    for host, life in zip(busy.hosts, lives, strict=True):
        assert host.incarnation != life
        first = next(s.record for s in host.swaps if s.record.incarnation == host.incarnation)
        assert first.version == 1
        assert first.base.count > 0
        assert RULE in first.summary.user_constraints
