"""A stand-in in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.standin.control import Control

ROOT = Path(__file__).resolve().parent.parent.parent


class Process:
    """`with Process() as standin:` starts one and ends it; it also ends when this process dies.

    `flags` are more of the program's flags. Raises RuntimeError when it does not start.
    """

    def __init__(self, *flags: str) -> None:
        command = [sys.executable, "-m", "tests.standin", "--port", "0", "--until-eof", *flags]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        if not self.url:
            self.stop()
            raise RuntimeError(f"the stand-in did not start, exit code {self._process.returncode}")
        self.control = Control(self.url)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def stop(self) -> int:
        """End the process and return its exit code."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            return self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
