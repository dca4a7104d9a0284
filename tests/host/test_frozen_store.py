"""How often a store that takes connections and answers nothing is asked."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Iterator

import pytest

from ebbtide import Policy, Pool, Reason
from ebbtide.gate import FIRST_PAUSE, LONGEST_PAUSE
from ebbtide_core.metrics import STORE_TRIPS, MemoryRecorder
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.talk import chat

QUICK = Policy(io_budget=0.1, wait_budget=0.0)
STEP, LASTS = 0.25, 30.0
"""Seconds, simulated: between the turns of each session, and until the end."""


class Frozen:
    """A server that takes connections and is silent. `calls` counts those that were made to it; a slow
    machine may need more than one connection for a call.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._taken: list[socket.socket] = []
        self.recorder = MemoryRecorder()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def _accept(self) -> None:
        while True:
            try:
                self._taken.append(self._listener.accept()[0])
            except OSError:
                return

    @property
    def calls(self) -> int:
        """How many calls were made to it, by pools that got the recorder."""
        return self.recorder.total(STORE_TRIPS)

    def close(self) -> None:
        """End it."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for connection in self._taken:
            connection.close()


class Time:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Frozen]:
    """A frozen store. The background does not wait long for it, and a slow machine asks nothing twice."""
    monkeypatch.setattr("ebbtide.base.COURIER_TIMEOUT", 0.05)
    monkeypatch.setattr("ebbtide.aio.HELD_UP", math.inf)
    server = Frozen()
    yield server
    server.close()


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """The time of pools that are made in the test."""
    time = Time()
    monkeypatch.setattr("ebbtide.base.monotonic", time)
    return time


def schedule() -> int:
    """Return how many calls the documented pauses allow: 0.5 s after the first fault, doubling to 5 s."""
    at, pause, calls = 0.0, FIRST_PAUSE, 0
    while at < LASTS:
        at, pause, calls = at + pause, min(LONGEST_PAUSE, 2 * pause), calls + 1
    return calls


def test_it_is_asked_as_often_as_the_gate_allows(
    make_host: MakeHost, worker_store: SyncStore, frozen: Frozen, time: Time
) -> None:
    """Degraded turns of a host and of two forks of its session, 30 s long: one call after each pause,
    whoever's turn it is, and none in the background but the one that the session's creation made."""
    host = make_host(broker=frozen.url, state=frozen.url, policy=QUICK, recorder=frozen.recorder)
    sessions = [host, host.fork("second"), host.fork("third")]
    assert host.flush()
    assert frozen.calls == 1
    for _ in range(int(LASTS / STEP)):
        for session in sessions:
            report = session.prepare(chat(27)).report
            assert report.reason is Reason.STORE_UNAVAILABLE
            assert report.degraded
        time.now += STEP
    assert host.flush()
    assert frozen.calls == 1 + schedule() == 10


def test_sessions_that_are_made_meanwhile_ask_as_seldom(frozen: Frozen, time: Time) -> None:
    """Each tenant's policy is wanted; the first read that fails keeps the others off for a pause."""
    with Pool(frozen.url, policy=QUICK, recorder=frozen.recorder) as pool:

        def make(tenant: str) -> None:
            pool.session(tenant=tenant, session_id="chat", model="gpt-test", context_window=4_000)
            assert pool.flush(20.0)

        for n in range(10):
            make(f"early {n}")
        assert frozen.calls == 1
        time.now += FIRST_PAUSE
        for n in range(10):
            make(f"late {n}")
        assert frozen.calls == 2
