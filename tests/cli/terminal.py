"""Runs the command in a pseudo-terminal, as in the window of a person."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.command import ANSI, COMMAND, environment

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


class Terminal:
    """A command under way, and everything that it wrote to its terminal."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self._master = master
        self._written = b""

    @property
    def written(self) -> str:
        """What was written so far, controls included."""
        return self._written.decode(errors="replace")

    @property
    def text(self) -> str:
        """What was written so far, without controls; each time the cursor went back begins a line."""
        return re.sub(r"[\r\n]+", "\n", ANSI.sub("", self.written))

    @property
    def cursor_shown(self) -> bool:
        """Whether the cursor can be seen: it was never hidden, or shown again since."""
        return self.written.rfind(SHOW) >= self.written.rfind(HIDE)

    def resize(self, width: int, height: int) -> None:
        """Change the size of the terminal."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read_until(self, done: Callable[[], bool], what: str, timeout: float = 90.0) -> None:
        """Read until something holds; fail, showing what was read, when the command ends before."""
        deadline = time.monotonic() + timeout
        while not done():
            assert time.monotonic() < deadline, f"not in {timeout} s: {what}\n{self.text}"
            assert self._read() or done(), f"ended before: {what}\n{self.text}"

    def read_to_end(self, timeout: float = 90.0) -> int:
        """Read until the command ends, and return its exit code."""
        deadline = time.monotonic() + timeout
        while self._read():
            assert time.monotonic() < deadline, f"not ended in {timeout} s\n{self.text}"
        return self.process.wait(timeout)

    def _read(self) -> bool:
        """Read what is there; False when nothing will come any more."""
        if not select.select([self._master], [], [], 0.05)[0]:
            return True
        try:
            found = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self._written += found
        return bool(found)


@contextmanager
def terminal(*arguments: str | Path, width: int = 100, height: int = 30, **env: str) -> Iterator[Terminal]:
    """Start the command in a terminal of this size that shows colours; kill it if it outlives the block."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    given = {**environment(), "TERM": "xterm-256color", **env}
    for name in {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"} - env.keys():
        given.pop(name, None)
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=given,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(30)
        os.close(master)
