"""`ebbtide worker`: a process that says when it is ready, is measured, and ends in order."""

from __future__ import annotations

import signal
import socket
from pathlib import Path
from urllib.request import urlopen

import pytest

from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from tests.cli.command import run, running
from tests.host.talk import chat
from tests.store.clock import Database
from tests.waiting import wait_until


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.processes
def test_a_worker_serves_jobs_and_metrics_until_it_is_told_to_stop(
    tmp_path: Path, server: EmbeddedServer, database: Database
) -> None:
    """The ready file appears, a job is done, the metrics tell of it, and SIGTERM ends it with code 0."""
    port, ready = free_port(), tmp_path / "ready"
    flags = ("--ready-file", ready, "--metrics-port", str(port), "--log-format", "json")
    with running(tmp_path, "worker", *flags, EBBTIDE_STATE=server.url) as worker:
        wait_until(ready.exists, "the worker is ready", 60)
        with Pool(server.url, policy=Policy(wait_budget=30.0)) as pool:
            session = pool.session(tenant="t", session_id="s", model="gpt-test", context_window=4_000)
            assert session.prepare(chat(27)).swap is not None
        worker.await_output('"reason": "published"')
        with urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
            told = reply.read().decode()
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(40) == 0
    assert 'ebbtide_jobs_total{outcome="success",reason="published"} 1.0' in told


def test_an_unknown_summariser_is_told_before_anything_starts(server: EmbeddedServer) -> None:
    """Exit code 2, and the known ones."""
    done = run("worker", "--state", server.url, "--summariser", "magic")
    assert done.returncode == 2
    assert "extractive" in done.stderr


def test_a_worker_that_can_not_work_ends_with_code_1() -> None:
    """So that a supervisor which starts it again on failure does."""
    done = run("worker", "--state", "ftp://nowhere", "--broker", "redis://127.0.0.1:1/0")
    assert done.returncode == 1
    assert "not a state URL" in done.stderr + done.stdout


def test_every_command_explains_itself() -> None:
    """Help names the commands; each has a sentence, its flags and an example."""
    told = run("--help").stdout
    for command in ("demo", "replay", "up", "worker", "doctor"):
        assert command in told
        assert "Example:" in run(command, "--help").stdout


def test_the_version_is_told() -> None:
    """One line."""
    assert run("--version").stdout.startswith("ebbtide ")
