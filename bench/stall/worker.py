"""Starts a worker in a process of its own, as `ebbtide worker` runs one, and reads what its jobs took."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ebbtide_cli.child import end, spawn
from ebbtide_worker.config import WorkerConfig

ROOT: Final = Path(__file__).resolve().parents[2]
KEY_ENV: Final = "EBBTIDE_BENCH_KEY"
READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 20.0


class Worker:
    """The process, and what it told since it was last asked."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log
        self._read = 0

    def told(self) -> list[dict[str, Any]]:
        """Return the figures since the last call."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            whole = log.read().rpartition(b"\n")[0]
        self._read += len(whole)
        return [json.loads(line) for line in whole.splitlines() if line.startswith(b"{")]


@contextmanager
def working(config: WorkerConfig, folder: Path) -> Iterator[Worker]:
    """Yield a worker that takes jobs; it is stopped in the end."""
    log, ready = folder / "worker.log", folder / "worker.ready"
    settings = {name: value for name, value in asdict(config).items() if name != "codec"}
    command = [sys.executable, "-m", "bench.stall.serve", json.dumps(settings), str(ready)]
    env = {**os.environ, KEY_ENV: "k-bench", "no_proxy": "127.0.0.1"}
    with log.open("wb") as output:
        process = spawn(command, death_signal=signal.SIGKILL, output=output, cwd=ROOT, env=env)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the worker did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)
        yield Worker(process, log)
    finally:
        end(process, signal.SIGTERM, STOP_SECONDS)
