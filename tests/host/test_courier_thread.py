"""The background thread: when it can't be started, and in a forked child."""

from __future__ import annotations

import subprocess
import sys
import threading
from textwrap import dedent

import pytest

from ebbtide import Action
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import take
from tests.host.talk import chat


def no_more(_: threading.Thread) -> None:
    """What the interpreter does when the process has as many threads as it may."""
    raise RuntimeError("can't start new thread")


def test_a_thread_that_can_not_be_started_is_a_fault_of_the_next_turn(
    make_host: MakeHost, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn does not raise; once threads can be had again, a job is asked for."""
    with monkeypatch.context() as starved:
        starved.setattr(threading.Thread, "start", no_more)
        host = make_host()
        first = host.prepare(chat(20)).report
        second = host.prepare(chat(20)).report
    told = (*first.faults, *second.faults)
    assert told
    assert set(told) == {"courier: no thread could be started"}
    assert host.prepare(chat(20)).report.action is Action.ENQUEUE
    assert host.flush()
    assert worker_store.run(fleet_calls.depth()).ready == 1


FORKING = """
    import os, sys, threading
    from ebbtide import Pool, Policy
    from ebbtide_core.store.client import SyncStore
    from tests.host.talk import chat

    begun, go_on, real = threading.Event(), threading.Event(), SyncStore.run

    def run(store, call):
        if call.script == "claim":
            begun.set()
            assert go_on.wait(30.0)
        return real(store, call)

    def session(pool, name):
        return pool.session(tenant="acme", session_id=name, model="gpt-test", context_window=4_000)

    SyncStore.run = run
    pool = Pool(sys.argv[1], policy=Policy(io_budget=10.0, wait_budget=0.0))
    shared = session(pool, "shared")
    shared.prepare(chat(20))
    assert begun.wait(30.0)
    child = os.fork()
    go_on.set()
    name = "parent" if child else "child"
    session(pool, name).prepare(chat(20))
    assert pool.flush(30.0), f"{name}: the background stands still"
    report = shared.prepare(chat(20)).report
    assert pool.flush(30.0)
    assert report.faults == (), report
    if not child:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pool.close()
"""


def test_a_forked_child_has_a_background_of_its_own(server: EmbeddedServer, worker_store: SyncStore) -> None:
    """Both processes go on with the pool that was made before; the order under way stays with the parent, and
    each session has one job."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", dedent(FORKING), server.url],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    jobs = [take(worker_store) for _ in range(4)]
    assert sorted(job.session_id for job in jobs if job) == ["child", "parent", "shared"]
