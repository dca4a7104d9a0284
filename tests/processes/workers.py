"""Worker processes, started by the command as users start them, each with an API key of its own."""

from __future__ import annotations

import json
import signal
import subprocess
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import psutil

from ebbtide_cli.child import spawn
from tests.cli.command import COMMAND, environment
from tests.waiting import wait_until

NAMES: Final = ("one", "two")
READY_SECONDS: Final = 90.0
PUBLISHED: Final = "job ended: success, published"
STOPPING: Final = "stopping: no more jobs are taken"


@dataclass
class Worker:
    """One process and its log, from byte `heard` on."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    ready: Path
    heard: int = 0

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Does it run? One that ended and was not reaped does not."""
        return self.process.poll() is None and psutil.pid_exists(self.pid)

    @property
    def said(self) -> str:
        """What it wrote so far."""
        return self.log.read_bytes()[self.heard :].decode(errors="replace")

    def forget(self) -> None:
        """Take what it wrote so far for another test's."""
        self.heard = self.log.stat().st_size

    @property
    def ended(self) -> list[dict[str, Any]]:
        """The log lines of the attempts that it ended, in order."""
        whole = self.said.rpartition("\n")[0].splitlines()
        lines = [json.loads(line) for line in whole if line.startswith("{")]
        return [line for line in lines if line["event"].startswith("job ended")]

    @property
    def published(self) -> int:
        """How many versions it published."""
        return self.said.count(PUBLISHED)

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    def ask_to_stop(self) -> None:
        """Send SIGTERM, and wait until the worker says that it takes no more jobs."""
        self.process.send_signal(signal.SIGTERM)
        wait_until(lambda: STOPPING in self.said, f"worker {self.name} stops", READY_SECONDS)


def start(folder: Path, name: str, **settings: Any) -> Worker:
    """Start `ebbtide worker` with these settings as environment variables, and don't wait for it."""
    given = {f"EBBTIDE_{what.upper()}": str(value) for what, value in settings.items()}
    env = environment(ANTHROPIC_API_KEY=_secret(name), no_proxy="127.0.0.1", **given)
    log, ready = folder / f"{name}.log", folder / f"{name}.ready"
    ready.unlink(missing_ok=True)
    with log.open("wb") as output:
        command = [*COMMAND, "worker", "--ready-file", str(ready)]
        process = spawn(command, death_signal=signal.SIGKILL, output=output, env=env)
    return Worker(name, process, log, ready)


def await_ready(*workers: Worker) -> None:
    """Wait until all of them take jobs; fail, showing its log, when one has ended before."""

    def ready() -> bool:
        for worker in workers:
            assert worker.alive, worker.said
        return all(worker.ready.exists() for worker in workers)

    wait_until(ready, "the workers take jobs", READY_SECONDS)


def whose(key: str) -> str:
    """Return the name of the worker whose API key the stand-in's log means, "" for no worker's.

    The SDK chooses the header that the key goes in.
    """
    headers = {f"{how}{_secret(name)}": name for name in NAMES for how in ("", "Bearer ")}
    return {_digest(header): name for header, name in headers.items()}.get(key, "")


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=4).hexdigest()


def _secret(name: str) -> str:
    return f"k-{name}"
