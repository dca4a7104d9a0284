"""Child processes that don't outlive this one, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

# Runs between fork and exec, in a fresh interpreter and not in `preexec_fn`, which is unsafe beside threads.
_TRAMPOLINE: Final = """
import os, sys
if sys.platform == "linux":
    import ctypes
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(sys.argv[2]))
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[3], sys.argv[3:])
"""


def spawn(
    command: Sequence[str],
    *,
    death_signal: signal.Signals,
    output: IO[bytes] | None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own; it gets `death_signal` when its parent dies (Linux).

    `output` takes stdout and stderr; None: they are this process's own. Trap: for Linux the parent is the
    *thread* that started the child, so start it from one that lives as long as the child is needed.
    """
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", _TRAMPOLINE, str(os.getpid()), str(int(death_signal)), *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        cwd=cwd,
        env=None if env is None else dict(env),
        start_new_session=True,
    )


def end(process: subprocess.Popen[bytes], how: signal.Signals, timeout: float | None) -> None:
    """Send a signal and wait for the end, with SIGKILL after `timeout` seconds, None: never."""
    process.send_signal(how)
    await_end(process, timeout)


def await_end(process: subprocess.Popen[bytes], timeout: float | None) -> None:
    """Wait for the end of a process, with SIGKILL after `timeout` seconds, None: never."""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
