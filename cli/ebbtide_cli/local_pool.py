"""A whole pool on this machine: the embedded server and worker processes, started and stopped together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ebbtide_cli.child import await_end, spawn
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.settings import PREFIX, Settings
from ebbtide_core.errors import EbbtideError

READY_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
"""How long a worker may take to be ready, and to end once its grace is over; then it is killed, which its
leases bear."""

_POLL_SECONDS: Final = 0.02
_LOG_TAIL: Final = 2_000


class PoolFailed(EbbtideError):
    """A part of the local pool did not start, or ended by itself: the message holds the end of its log."""


class LocalPool:
    """Server and workers. The workers' settings are those given, but for the URLs and the port that tells
    health, which only one process can have. They get no grace where the data goes with the pool: nobody would
    see what they still publish.

    `quiet`: what workers write goes to files beside the server's data and is told when one fails; otherwise
    it goes to this process's stderr.
    """

    def __init__(
        self, settings: Settings, server: EmbeddedServer, *, workers: int = 1, quiet: bool = False
    ) -> None:
        self._settings = settings
        self._server = server
        self._count = workers
        self._quiet = quiet
        self._workers: list[subprocess.Popen[bytes]] = []

    @property
    def state(self) -> str:
        """The URL of the state store."""
        return self._server.url

    @property
    def broker(self) -> str:
        """The URL of the broker, as Celery spells it."""
        return self._server.broker_url

    @property
    def _grace(self) -> float:
        return self._settings.grace if self._server.kept else 0.0

    def start(self) -> None:
        """Start everything and return when jobs are taken. Raises PoolFailed or EmbeddedServerError."""
        try:
            self._server.start()
            for number in range(self._count):
                self._ready_file(number).unlink(missing_ok=True)
                self._workers.append(self._worker(number))
            for number in range(self._count):
                self._await_ready(number)
        except BaseException:
            self.close()
            raise

    def check(self) -> None:
        """Raise PoolFailed when a part ended by itself."""
        if not self._server.running:
            raise PoolFailed("the embedded server ended by itself")
        for number in range(self._count):
            self._check_worker(number)

    def close(self) -> None:
        """Stop the workers, then the server; each is killed if it does not end in time."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + self._grace + STOP_SECONDS
        for worker in workers:
            await_end(worker, max(0.0, deadline - time.monotonic()))
        for number in range(len(workers)):
            self._ready_file(number).unlink(missing_ok=True)
        self._server.close()

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        """Start a worker; URLs go by the environment, since the arguments of a process are for all to see."""
        command = [
            sys.executable,
            "-P",
            "-m",
            "ebbtide_cli",
            "worker",
            "--ready-file",
            str(self._ready_file(number)),
        ]
        own = {"state": self.state, "broker": self.broker, "grace": self._grace, "health_port": 0}
        given = {**self._settings.model_dump(), **own}
        env = {f"{PREFIX}{name.upper()}": str(value) for name, value in given.items()}
        with self._log_file(number).open("wb") if self._quiet else nullcontext() as output:
            return spawn(command, death_signal=signal.SIGKILL, output=output, env={**os.environ, **env})

    def _ready_file(self, number: int) -> Path:
        return self._server.data_dir / f"worker-{number}.ready"

    def _log_file(self, number: int) -> Path:
        return self._server.data_dir / f"worker-{number}.log"

    def _await_ready(self, number: int) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not self._ready_file(number).exists():
            self._check_worker(number)
            if time.monotonic() > deadline:
                raise PoolFailed(f"worker {number} took no job in {READY_SECONDS} s{self._tail(number)}")
            time.sleep(_POLL_SECONDS)

    def _check_worker(self, number: int) -> None:
        code = self._workers[number].poll()
        if code is not None:
            raise PoolFailed(f"worker {number} ended by itself with code {code}{self._tail(number)}")

    def _tail(self, number: int) -> str:
        if not self._quiet:
            return ""
        return ":\n" + self._log_file(number).read_text(errors="replace")[-_LOG_TAIL:]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
