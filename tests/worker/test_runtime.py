"""The worker's loop in its thread: started once, used by many threads, stopped for certain."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import metrics
from ebbtide_core.errors import EbbtideError, InputError
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import ClaimStage
from ebbtide_worker.app import create_app
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.runtime import Runtime
from ebbtide_worker.summarisers import registry
from ebbtide_worker.summarisers.base import Chunk, Partial, Terms
from ebbtide_worker.summarisers.extractive import Extractive
from tests.cli.test_worker import free_port
from tests.host.talk import chat
from tests.store.clock import Database
from tests.waiting import wait_until
from tests.worker.hostside import HostSide


@pytest.fixture
def config(server: EmbeddedServer) -> WorkerConfig:
    """A worker on the tests' server."""
    return WorkerConfig(broker=server.url, state=server.url, tick=0.05)


@pytest.fixture
def host(server: EmbeddedServer, database: Database) -> Iterator[HostSide]:
    """A host at the server's own time."""
    store = SyncStore(server.url, timeout=5.0)
    yield HostSide(store)
    store.close()


def test_threads_share_one_loop(config: WorkerConfig, host: HostSide, recorder: MemoryRecorder) -> None:
    """Four threads with a permit each do four jobs on one loop; afterwards the runtime stops."""
    hosts = [HostSide(host.store, owner=Owner.of("acme", f"chat-{n}")) for n in range(4)]
    for one in hosts:
        one.enqueue(chat(20))
    runtime = Runtime(config, recorder)
    runtime.start()

    threads = [threading.Thread(target=runtime.work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    runtime.stop()

    assert [one.record(1).version for one in hosts] == [1, 1, 1, 1]
    assert recorder.total(metrics.PERMITS, "received") == 4


def test_a_stopped_runtime_takes_no_permit(config: WorkerConfig, host: HostSide) -> None:
    """Permits that still arrive while the pool winds down are dropped; the job waits for another worker."""
    runtime = Runtime(config)
    runtime.start()
    runtime.stop()
    host.enqueue(chat(20))

    assert runtime.work() == 0
    assert host.store.run(fleet_calls.depth()).ready == 1


def test_starting_and_stopping_twice_is_harmless(config: WorkerConfig) -> None:
    """A second start or stop changes nothing."""
    before = set(threading.enumerate())
    runtime = Runtime(config)
    runtime.start()
    started = set(threading.enumerate()) - before
    runtime.start()
    assert set(threading.enumerate()) - before == started
    runtime.stop()
    runtime.stop()
    assert not any(thread.is_alive() for thread in started)


def test_a_permit_without_a_worker_is_an_error(config: WorkerConfig) -> None:
    """The task only works inside a worker that was started."""
    with pytest.raises(EbbtideError, match="not started"):
        Runtime(config).work()


def test_a_wrong_state_url_is_told_at_the_start(config: WorkerConfig) -> None:
    """A worker with a URL that is none fails at once, without showing it."""
    wrong = WorkerConfig(broker=config.broker, state="nonsense://secret")
    with pytest.raises(InputError) as error:
        Runtime(wrong).start()
    assert "secret" not in str(error.value)


class Hanging(Extractive):
    """Extraction whose calls never come back."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    async def map(self, chunk: Chunk, terms: Terms) -> Partial:
        """Hang."""
        self.begun.set()
        await asyncio.Event().wait()
        return await super().map(chunk, terms)


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Hanging:
    """A registered summariser that hangs."""
    one = Hanging()
    monkeypatch.setitem(registry._FACTORIES, "hanging", lambda _: one)
    return one


def test_a_second_signal_hands_jobs_back_at_once(
    config: WorkerConfig, host: HostSide, hanging: Hanging, recorder: MemoryRecorder
) -> None:
    """The first one gives them their grace, however long; the job is there for another worker, unharmed."""
    host.enqueue(chat(20))
    runtime = Runtime(replace(config, summariser="hanging", grace=1_000.0), recorder)
    runtime.start()
    thread = threading.Thread(target=runtime.work)
    thread.start()
    assert hanging.begun.wait(30)

    runtime.ask_to_stop()
    runtime.ask_to_stop()
    runtime.stop()

    thread.join(30)
    assert not thread.is_alive()
    assert recorder.total(metrics.JOBS, "neutral", "handed_back") == 1
    depth = host.store.run(fleet_calls.depth())
    assert (depth.ready, depth.running) == (1, 0)
    seen = host.store.run(session_calls.look(host.owner))
    assert seen is not None
    assert seen.view.claim is not None
    assert seen.view.claim.stage is ClaimStage.QUEUED


def test_a_stopped_runtime_can_not_be_asked_to_stop(config: WorkerConfig) -> None:
    """A signal that comes late, or early, is harmless: before it was started it stops nothing."""
    runtime = Runtime(config)
    runtime.ask_to_stop()
    runtime.start()
    assert not _stopping(runtime)
    runtime.stop()
    runtime.ask_to_stop()
    assert runtime.work() == 0


def _stopping(runtime: Runtime) -> bool:
    running = runtime._running
    assert running is not None
    return running.shop.stopping.is_set()


def asked(port: int, path: str) -> tuple[int, dict[str, Any]]:
    """Ask a worker for its health."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5.0)
    connection.request("GET", path)
    answer = connection.getresponse()
    told = (answer.status, json.loads(answer.read()) if answer.status != 404 else {})
    connection.close()
    return told


def test_health_is_served_while_it_runs(config: WorkerConfig, recorder: MemoryRecorder) -> None:
    """Alive from the first moment, ready once store and broker have answered, and gone with the worker."""
    port = free_port()
    runtime = Runtime(replace(config, health_port=port, tick=0.5), recorder)
    runtime.start()
    well = (200, {"ok": True, "problems": []})
    assert asked(port, "/live") == well
    wait_until(lambda: asked(port, "/ready") == well, "the worker is ready")
    assert asked(port, "/metrics") == (404, {})
    runtime.stop()
    with pytest.raises(ConnectionRefusedError):
        asked(port, "/live")


def test_a_port_that_is_taken_is_told_at_the_start(config: WorkerConfig) -> None:
    """With what to do; nothing runs then."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        runtime = Runtime(replace(config, health_port=taken.getsockname()[1]))
        with pytest.raises(EbbtideError, match="--health-port"):
            runtime.start()
    runtime.stop()


def test_a_process_takes_no_more_jobs_than_it_has_calls(config: WorkerConfig) -> None:
    """Others would hold leases only to wait."""
    assert create_app(replace(config, concurrency=16, map_per_process=4)).conf.worker_concurrency == 4
    assert create_app(replace(config, concurrency=4, map_per_process=16)).conf.worker_concurrency == 4


def test_the_app_has_one_task_and_acknowledges_early(config: WorkerConfig) -> None:
    """JSON only, no results, no late acknowledgement, one queue; URLs are not shown."""
    app = create_app(config)

    assert "ebbtide.work.1" in app.tasks
    assert app.conf.accept_content == ["json"]
    assert not app.conf.task_acks_late
    assert app.conf.result_backend is None
    assert app.conf.task_default_queue == "ebbtide.work.1"
    assert config.state not in repr(config)
