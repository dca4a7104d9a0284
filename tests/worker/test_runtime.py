"""The worker's loop in its thread: started once, used by many threads, stopped for certain."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import metrics
from ebbtide_core.errors import EbbtideError, InputError
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_worker.app import create_app
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.runtime import Runtime
from tests.host.talk import chat
from tests.store.clock import Database
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


def test_the_app_has_one_task_and_acknowledges_early(config: WorkerConfig) -> None:
    """JSON only, no results, no late acknowledgement, one queue; URLs are not shown."""
    app = create_app(config)

    assert "ebbtide.work.1" in app.tasks
    assert app.conf.accept_content == ["json"]
    assert not app.conf.task_acks_late
    assert app.conf.result_backend is None
    assert app.conf.task_default_queue == "ebbtide.work.1"
    assert config.state not in repr(config)
