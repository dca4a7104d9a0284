"""Real workers tell whether they consume: a stalled one is dead, one that merely has no work or no broker is
not.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from ebbtide import Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.store.client import SyncStore
from tests.cli.test_worker import free_port
from tests.waiting import wait_until
from tests.worker.test_processes import (
    RECEIVED,
    StartWorker,
    WorkerProcess,
    durable,
    host_with_version,
    pool,
    running,
    start_worker,
    store,
)
from tests.worker.test_runtime import asked

__all__ = ["durable", "pool", "start_worker", "store"]

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

LIVENESS = 4.0


class Probed:
    """A worker with a port for probes."""

    def __init__(self, start: StartWorker, **given: Any) -> None:
        self._port = free_port()
        settings = {"health_port": self._port, "liveness": LIVENESS, "tick": 0.3, "store_timeout": 1.0}
        self.process: WorkerProcess = start(**{**settings, **given})

    @property
    def alive(self) -> bool:
        """Does its probe say so?"""
        return asked(self._port, "/live")[0] == 200

    @property
    def ready(self) -> bool:
        """Does its probe say so?"""
        return asked(self._port, "/ready")[0] == 200

    @property
    def problems(self) -> str:
        """Why it should be restarted."""
        return str(asked(self._port, "/live")[1]["problems"])

    def stays_alive(self) -> None:
        """Watch it for twice as long as it may be without a sign of life."""
        until = time.monotonic() + 2 * LIVENESS

        def over() -> bool:
            assert self.alive, self.problems
            return time.monotonic() > until

        wait_until(over, "twice the time has passed", 60)


@pytest.fixture
def probed(start_worker: StartWorker) -> Callable[..., Probed]:
    """Starts workers with probes."""
    return lambda **given: Probed(start_worker, **given)


def test_idle_workers_hear_of_each_other_and_a_stalled_one_is_dead(probed: Callable[..., Probed]) -> None:
    """Permits go round between two that have nothing to do; the one that listens no more gets none, though
    its process, its loop and its connections are all there.
    """
    stalling, healthy = probed(), probed()
    healthy.stays_alive()
    assert stalling.alive
    assert stalling.process.said.count(RECEIVED) >= 2

    stalling.process.process.send_signal(signal.SIGUSR2)

    wait_until(lambda: not stalling.alive, "the stalled worker counts as dead", 60)
    assert "no permit was received" in stalling.problems
    assert not stalling.ready
    assert healthy.alive


@pytest.mark.parametrize("how", ["frozen", "gone"])
def test_a_broker_that_is_away_is_no_reason_to_restart(
    probed: Callable[..., Probed], durable: EmbeddedServer, pool: Pool, how: str
) -> None:
    """The worker is not ready, but alive; when store and broker are back it takes jobs as before."""
    worker = probed()
    wait_until(lambda: worker.ready, "the worker is ready")

    if how == "frozen":
        os.kill(durable.pid, signal.SIGSTOP)
    else:
        durable.kill()
    wait_until(lambda: not worker.ready, "it is not ready")
    worker.stays_alive()
    if how == "frozen":
        os.kill(durable.pid, signal.SIGCONT)
    else:
        durable.start()

    wait_until(lambda: worker.ready, "the worker is ready again")
    wait_until(host_with_version(pool, "after"), "a new job is done", 60)
    assert worker.alive


def test_a_worker_whose_slots_are_all_busy_is_alive(
    probed: Callable[..., Probed], pool: Pool, store: SyncStore
) -> None:
    """However long its jobs take, it is ready too: others may wait in its line."""
    worker = probed(held=True, summariser="held", concurrency=1)
    swapped = host_with_version(pool, "chat")
    wait_until(lambda: running(store) == 1, "the job runs")

    worker.stays_alive()
    assert worker.ready

    worker.process.hold.unlink()
    wait_until(swapped, "version 1 is swapped in", 60)
    worker.stays_alive()
