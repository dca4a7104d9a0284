"""`ebbtide health`: what a container's health check runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.errors import EbbtideError
from ebbtide_worker.health import Health
from ebbtide_worker.health_server import HealthServer
from tests.cli.command import run, running
from tests.cli.test_worker import free_port
from tests.store.clock import Database
from tests.waiting import wait_until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


@pytest.mark.processes
def test_the_probes_of_the_page_ask_a_worker(
    tmp_path: Path, server: EmbeddedServer, database: Database
) -> None:
    """The very commands of the operations page, with another port, against a real worker: 0 while it is well,
    1 once it is gone.
    """
    port = free_port()
    probes = [
        [word.strip(' "').replace("8081", str(port)) for word in found.split(",")][1:]
        for found in re.findall(r"exec: {command: \[(ebbtide, .*)\]}", PAGE.read_text())
    ]
    assert [probe[0] for probe in probes] == ["health", "health"]
    env = {"EBBTIDE_STATE": server.url, "EBBTIDE_HEALTH_PORT": str(port)}
    with running(tmp_path, "worker", **env) as worker:
        worker.await_output("ready.")
        wait_until(lambda: all(run(*probe).returncode == 0 for probe in probes), "the worker is well", 60)
        told = run(*probes[0])
        assert '"ok": true' in told.stdout
    done = run(*probes[0])
    assert done.returncode == 1
    assert "no worker" in done.stderr


def test_what_is_wrong_is_told() -> None:
    """On stderr, with exit code 1: a worker that was never answered is alive, but not ready."""
    port = free_port()
    server = HealthServer(Health(60.0, 5.0), "127.0.0.1", port)
    try:
        assert run("health", "--health-port", str(port)).returncode == 0
        done = run("health", "--ready", EBBTIDE_HEALTH_PORT=str(port), EBBTIDE_HEALTH_HOST="0.0.0.0")
        assert done.returncode == 1
        assert "the broker has not answered" in done.stderr
    finally:
        server.close()


def test_without_a_port_it_says_which_one_it_needs() -> None:
    """The flag and the variable; exit code 2."""
    done = run("health")
    assert done.returncode == 2
    assert "EBBTIDE_HEALTH_PORT" in done.stderr


def test_an_address_that_is_not_ones_own_can_not_be_served() -> None:
    """It is told with what to do."""
    with pytest.raises(EbbtideError, match="--health-port"):
        HealthServer(Health(60.0, 5.0), "192.0.2.1", free_port())
