"""Real worker processes on a real server: a host's job is done, a server that restarts ends no worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis

from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.permits import QUEUE, PermitSender
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from tests.host.talk import chat
from tests.waiting import wait_until

pytestmark = pytest.mark.processes

ROOT = Path(__file__).resolve().parents[2]
POLICY = Policy(keep_recent_tokens=500, min_new_tokens=100)
LOST = "Connection to broker lost"
NOT_TOLD = "Couldn't ack"
RECEIVED = " received"
CONNECTED = "Connected to redis"
DIED_OF = "'NoneType' object has no attribute 'hostname'"


@dataclass
class WorkerProcess:
    """A worker, its log, and the file that holds its calls."""

    process: subprocess.Popen[bytes]
    log: Path
    hold: Path

    @property
    def said(self) -> str:
        """What it logged so far."""
        return self.log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        """Does it run?"""
        return self.process.poll() is None


StartWorker = Callable[..., WorkerProcess]


@pytest.fixture
def durable() -> Iterator[EmbeddedServer]:
    """A server of its own on a port, whose data survives a kill."""
    with EmbeddedServer(tcp=True, appendonly=True) as server:
        yield server


@pytest.fixture
def start_worker(durable: EmbeddedServer, tmp_path: Path) -> Iterator[StartWorker]:
    """Starts workers, and ends them with the test."""
    started: list[WorkerProcess] = []

    def start(*options: str, held: bool = False, **given: Any) -> WorkerProcess:
        name = f"worker-{len(started)}"
        config = {"broker": durable.url, "state": durable.url, "tick": 1.0, "renew_every": 1.0, "grace": 1.0}
        hold = tmp_path / f"{name}.hold"
        told = {"TEST_WORKER": json.dumps({**config, **given}), "TEST_HOLD": str(hold)}
        env = {**os.environ, **told, "TEST_OPTIONS": " ".join(options)}
        if held:
            hold.touch()
        log = tmp_path / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.worker.apps"], cwd=ROOT, env=env, stdout=out, stderr=out
            )
        started.append(WorkerProcess(process, log, hold))
        wait_until(lambda: " ready." in started[-1].said, "a worker is ready", 60)
        return started[-1]

    yield start
    for worker in started:
        worker.process.kill()
        worker.process.wait()


@pytest.fixture
def pool(durable: EmbeddedServer) -> Iterator[Pool]:
    """A host's pool."""
    with Pool(durable.url, policy=POLICY) as pool:
        yield pool


@pytest.fixture
def store(durable: EmbeddedServer) -> Iterator[SyncStore]:
    """The state of the server."""
    store = SyncStore(durable.url, timeout=2.0)
    yield store
    store.close()


@pytest.fixture
def broker(durable: EmbeddedServer) -> Iterator[Any]:
    """The broker's data."""
    client = redis.Redis.from_url(durable.url)
    yield client
    client.close()


def host_with_version(pool: Pool, session_id: str, version: int = 1) -> Callable[[], bool]:
    """Begin a session that needs a compaction; return the test whether a turn swapped the version in."""
    session = pool.session(tenant="acme", session_id=session_id, model="gpt-test", context_window=4_000)
    messages = chat(24)
    session.prepare(messages, max_tokens=200)
    assert pool.flush()

    def swapped() -> bool:
        turn = session.prepare(messages, max_tokens=200)
        return turn.swap is not None and turn.swap.version == version

    return swapped


def running(store: SyncStore) -> int:
    """Return how many jobs run, -1 while the server is away."""
    try:
        return store.run(fleet_calls.depth()).running
    except StoreUnavailable:
        return -1


def test_a_worker_process_does_a_hosts_job_and_stops_cleanly(start_worker: StartWorker, pool: Pool) -> None:
    """A host's turn enqueues, a `celery worker` process publishes version 1, a later turn swaps it in."""
    worker = start_worker()

    wait_until(host_with_version(pool, "chat"), "version 1 is swapped in", 60)

    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(30) == 0
    assert "Traceback" not in worker.said


def test_a_worker_that_stops_gives_its_running_job_back(
    start_worker: StartWorker, pool: Pool, store: SyncStore
) -> None:
    """After the grace a stopping worker hands the job back that it holds; one that starts later does it."""
    stopping = start_worker(held=True, summariser="held")
    swapped = host_with_version(pool, "chat")
    wait_until(lambda: running(store) == 1, "the job runs")

    stopping.process.send_signal(signal.SIGTERM)
    assert stopping.process.wait(30) == 0

    assert running(store) == 0
    assert store.run(fleet_calls.depth()).ready == 1
    start_worker()
    wait_until(swapped, "version 1 is swapped in", 60)


def test_a_killed_workers_job_is_finished_by_another(
    start_worker: StartWorker, pool: Pool, store: SyncStore
) -> None:
    """A worker is killed in the middle of a call: its lease runs out, another worker publishes version 1."""
    dying = start_worker(held=True, summariser="held", running_lease=2.0)
    swapped = host_with_version(pool, "chat")
    wait_until(lambda: running(store) == 1, "the job runs")
    start_worker(running_lease=2.0)

    dying.process.kill()

    wait_until(swapped, "version 1 is swapped in", 60)


@dataclass
class Scene:
    """A worker with all slots busy and permits reserved, its sessions' tests for a swap, and the server."""

    worker: WorkerProcess
    hosts: list[Callable[[], bool]]
    server: EmbeddedServer
    broker: Any

    def reserve(self) -> None:
        """Have the busy worker receive two more permits, which it can't begin."""
        before = self.worker.said.count(RECEIVED)
        sender = PermitSender(self.server.url)
        sender.send(2)
        sender.close()
        wait_until(lambda: self.worker.said.count(RECEIVED) >= before + 2, "two permits are reserved")

    def all_done(self) -> None:
        """Wait until the jobs of all sessions are published and swapped in."""
        for swapped in self.hosts:
            wait_until(swapped, "the jobs under way are published", 60)


@pytest.fixture
def busy(
    start_worker: StartWorker, pool: Pool, durable: EmbeddedServer, store: SyncStore, broker: Any
) -> Callable[..., Scene]:
    """Makes a worker with all `slots` busy and two more messages reserved."""

    def make(*options: str, slots: int, **given: Any) -> Scene:
        worker = start_worker(*options, held=True, summariser="held", concurrency=slots, **given)
        hosts = [host_with_version(pool, f"chat-{n}") for n in range(slots)]
        wait_until(lambda: running(store) == slots, "all slots are busy")
        scene = Scene(worker, hosts, durable, broker)
        scene.reserve()
        return scene

    return make


def restart_under_a_listening_worker(scene: Scene) -> None:
    """Kill the server, so that the worker first misses its connection for remote commands, and start it
    again.

    Which loss a worker notices first is chance; kombu's fault needs this order.
    """
    worker = scene.worker
    connected, lost = worker.said.count(CONNECTED), worker.said.count(LOST)
    worker.process.send_signal(signal.SIGSTOP)
    scene.broker.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    scene.server.kill()
    worker.process.send_signal(signal.SIGCONT)
    wait_until(lambda: worker.said.count(LOST) > lost or not worker.alive, "the loss is noticed", 60)
    scene.server.start()
    wait_until(
        lambda: worker.said.count(CONNECTED) > connected or not worker.alive, "the worker is back or dead", 60
    )


def test_a_restart_of_the_server_ends_no_busy_worker(busy: Callable[..., Scene], pool: Pool) -> None:
    """All slots busy, two more messages reserved, the server killed and started again, twice: jobs end, new
    ones are taken.
    """
    scene = busy("remote_control", slots=4)

    restart_under_a_listening_worker(scene)
    scene.reserve()
    restart_under_a_listening_worker(scene)
    scene.worker.hold.unlink()

    scene.all_done()
    wait_until(host_with_version(pool, "after"), "a new job is done", 60)
    assert scene.worker.alive


def test_without_the_fix_the_restart_ends_the_worker(busy: Callable[..., Scene]) -> None:
    """The same schedule with kombu as it is: the worker dies, mostly at the first restart, so the test above
    can fail.
    """
    scene = busy("remote_control", "without_fix", slots=4)

    for _ in range(6):
        restart_under_a_listening_worker(scene)
        if not scene.worker.alive:
            break
        scene.reserve()

    assert not scene.worker.alive
    assert DIED_OF in scene.worker.said


def lose_the_server_while_acknowledging(scene: Scene) -> None:
    """Kill the server, let the jobs give up so that reserved permits are acknowledged to nobody, start it
    again.
    """
    scene.server.kill()
    scene.worker.hold.unlink()
    wait_until(lambda: scene.worker.said.count(NOT_TOLD) == 2, "two acknowledgements fail", 60)
    scene.server.start()


def test_failed_acknowledgements_do_not_stall_a_worker(busy: Callable[..., Scene], pool: Pool) -> None:
    """A prefetch window full of messages that could not be acknowledged is emptied: jobs come back and are
    done.
    """
    scene = busy(slots=2, running_lease=2.0)

    lose_the_server_while_acknowledging(scene)

    scene.all_done()
    wait_until(host_with_version(pool, "after"), "a new job is done", 60)
    assert scene.worker.alive


def test_without_the_fix_failed_acknowledgements_stall_the_worker(busy: Callable[..., Scene]) -> None:
    """The same schedule with kombu as it is: permits pile up and the worker takes none."""
    scene = busy("without_fix", slots=2, running_lease=2.0)

    lose_the_server_while_acknowledging(scene)

    wait_until(lambda: scene.broker.llen(QUEUE) >= 4, "permits pile up", 60)
    assert scene.worker.alive
