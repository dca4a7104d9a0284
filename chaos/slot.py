"""One place in the fleet: a process, and the next one when it has ended."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ebbtide_cli.child import await_end, spawn

ROOT: Final = Path(__file__).resolve().parent.parent
STOP_SECONDS: Final = 30.0
"""A process that was told to end is killed after so long, and that is reported."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How a process is started."""

    command: Sequence[str]
    env: Mapping[str, str]


Launcher = Callable[[int], Launch]
"""Says how the next process is started, given the number of its life."""


class Slot:
    """Keeps a process running while `wanted`.

    `lives` is how many were started. `surprises` tells of every end that nobody brought about.
    """

    def __init__(self, name: str, folder: Path, launch: Launcher) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.wanted = True
        self.lives = 0
        self.surprises: list[str] = []
        self._launch = launch
        self._process: subprocess.Popen[bytes] | None = None
        self._told_at: float | None = None

    @property
    def running(self) -> bool:
        """Is there a process?"""
        return self._process is not None and self._process.poll() is None

    def tick(self) -> None:
        """Take note of an end, and start the next process if one is wanted. Does not wait."""
        if self._process is not None and self._process.poll() is None:
            self._force(self._process)
            return
        if self._process is not None:
            self._ended(self._process)
        if self.wanted:
            self._start()

    def _start(self) -> None:
        self.lives += 1
        launch = self._launch(self.lives)
        self._told_at = None
        with self.log.open("ab") as log:
            self._process = spawn(
                launch.command, death_signal=signal.SIGKILL, output=log, cwd=ROOT, env=launch.env
            )

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        if self._told_at is None:
            self.surprises.append(
                f"{self.name}, process {self.lives}, ended by itself with code {process.returncode}: "
                f"see {self.log}"
            )
        self._process = None

    def _force(self, process: subprocess.Popen[bytes]) -> None:
        if self._told_at is not None and time.monotonic() - self._told_at > STOP_SECONDS:
            self.surprises.append(
                f"{self.name}, process {self.lives}, did not end {STOP_SECONDS:g} s after SIGTERM: "
                f"see {self.log}"
            )
            process.kill()
            process.wait()

    def end(self, how: signal.Signals) -> None:
        """Send a signal that is to end the process; no other one is started until it is wanted."""
        self.wanted = False
        if self.running and self._process is not None:
            self._told_at = time.monotonic()
            self._process.send_signal(how)

    def want(self) -> None:
        """Have a process again, as soon as the last one has ended."""
        self.wanted = True

    def pause(self) -> None:
        """Stop the process where it is."""
        if self.running and self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        if self.running and self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End the process at once, whatever it does."""
        self.wanted = False
        if self._process is not None:
            self._process.kill()
            await_end(self._process, None)
