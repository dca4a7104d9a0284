"""A server as a process of this one: started, killed, frozen."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ebbtide_cli.child import end, spawn
from tests.waiting import wait_until

START_SECONDS = 60.0
STOP_SECONDS = 30.0


class ServerProcess:
    """Starts a command again and again; `ready` says whether it serves. It dies with this process."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        ready: Callable[[], bool],
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command
        self._folder = folder
        self._ready = ready
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running process."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it, and return once it serves; fail with the end of its log when it ends instead."""
        log = self._folder / "log"
        with log.open("wb") as output:
            self._process = spawn(
                self._command, death_signal=signal.SIGKILL, output=output, cwd=self._folder, env=self._env
            )

        def serves() -> bool:
            assert self.process.poll() is None, log.read_text(errors="replace")[-2000:]
            return self._ready()

        wait_until(serves, f"{self._command[0]} serves", START_SECONDS)

    def kill(self) -> None:
        """End it as a crash would. No effect when it does not run."""
        if self._process is not None:
            end(self._process, signal.SIGKILL, None)
            self._process = None

    def stop(self) -> None:
        """End it in order."""
        end(self.process, signal.SIGTERM, STOP_SECONDS)
        self._process = None

    def freeze(self) -> None:
        """Stop it without an end: connections stay open and nothing answers."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)


def free_ports(number: int) -> list[int]:
    """Return ports of 127.0.0.1 that nothing listens on at present."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [int(listener.getsockname()[1]) for listener in held]
    for listener in held:
        listener.close()
    return ports
