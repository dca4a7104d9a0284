"""Runs the command in a process of its own, in an environment without settings of the developer's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_until

COMMAND = [sys.executable, "-P", "-m", "ebbtide_cli"]
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(**more: str) -> dict[str, str]:
    """Return the environment without our settings and keys, with a wide, plain terminal."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("EBBTIDE_", "ANTHROPIC_"))}
    return {**kept, "COLUMNS": "160", "TERM": "dumb", "NO_COLOR": "1", **more}


def run(*arguments: str | Path, timeout: float = 100.0, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(**env),
        check=False,
    )


class Running:
    """A command under way; what it writes goes to a file."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self._output = output

    @property
    def output(self) -> str:
        """What it has written so far."""
        return self._output.read_text(errors="replace")

    def children(self) -> list[int]:
        """The processes that it started and that run."""
        return [pid for pid in _pids() if _parent(pid) == self.process.pid and runs(pid)]

    def await_output(self, text: str, timeout: float = 60.0) -> None:
        """Wait until it has written a text; fail, showing what it wrote, when it ends before."""

        def written() -> bool:
            assert self.process.poll() is None or text in self.output, self.output
            return text in self.output

        wait_until(written, f"{text!r} in the output", timeout)


@contextmanager
def running(folder: Path, *arguments: str | Path, **env: str) -> Iterator[Running]:
    """Start the command, and end it with the block if it still runs."""
    path = folder / "output"
    with path.open("wb") as output:
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], stdout=output, stderr=output, env=environment(**env)
        )
    try:
        yield Running(process, path)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def runs(pid: int) -> bool:
    """Say whether a process is alive; one that ended and was not reaped is not."""
    return _state(pid) not in ("", "Z")


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _fields(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _state(pid: int) -> str:
    fields = _fields(pid)
    return fields[0] if fields else ""


def _parent(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[1]) if fields else 0
