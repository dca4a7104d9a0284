"""What a load runs on: state store, broker, stand-in, workers, hosts, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from tests.standin import Process, Settings

from bench.load.host import Config
from bench.work.process import KEY_ENV, ROOT, Worker
from ebbtide_cli.child import end, spawn
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import metrics
from ebbtide_core.store.client import SyncStore

STOP_SECONDS: Final = 10.0


class Stage:
    """`with Stage(workers, latency, **config) as stage:` starts all but the hosts; config is the workers'."""

    def __init__(self, workers: int, latency: float, **config: Any) -> None:
        self.state = EmbeddedServer(tcp=True)
        self.broker = EmbeddedServer(tcp=True)
        self.workers: list[Worker] = []
        self._number = workers
        self._latency = latency
        self._config = config
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self.folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="bench-load-")))
            self.standin = opened.enter_context(Process("--no-bodies"))
            self.standin.control.set(Settings(latency=self._latency))
            opened.enter_context(self.state)
            opened.enter_context(self.broker)
            urls = {"state": self.state.url, "broker": self.broker.url, "base_url": self.standin.url}
            for number in range(self._number):
                made = Worker(self.folder, f"worker-{number}", **urls, **self._config, key_env=KEY_ENV)
                self.workers.append(opened.enter_context(made))
            self.store = SyncStore(self.state.url, timeout=10.0)
            opened.callback(self.store.close)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def outcomes(self) -> Counter[str]:
        """Return how many attempts ended with which reason, in all workers."""
        found: Counter[str] = Counter()
        for worker in self.workers:
            for (_, reason), times in worker.counts(metrics.JOBS).items():
                found[reason] += times
        return found

    def queue_age(self, share: float) -> float:
        """Return the seconds in the queue that so many of all jobs did not exceed, to the bucket's bound."""
        buckets: Counter[float] = Counter()
        for worker in self.workers:
            buckets += worker.buckets(metrics.QUEUE_SECONDS)
        return next((le for le, n in sorted(buckets.items()) if n >= share * max(buckets.values())), 0.0)


class Hosts:
    """Host processes at work; each tells of its sessions in the end."""

    def __init__(self, configs: Sequence[Config], folder: Path) -> None:
        self._outputs = [folder / f"host-{number}.json" for number in range(len(configs))]
        env = {**os.environ, "no_proxy": "127.0.0.1"}
        self.processes: list[subprocess.Popen[bytes]] = []
        for config, path in zip(configs, self._outputs, strict=True):
            command = [sys.executable, "-m", "bench.load.serve", config.to_json()]
            with path.open("wb") as output:
                self.processes.append(
                    spawn(command, death_signal=signal.SIGKILL, output=output, cwd=ROOT, env=env)
                )

    @property
    def running(self) -> bool:
        """Is any of them still at work?"""
        return any(process.poll() is None for process in self.processes)

    def told(self) -> list[dict[str, Any]]:
        """Return what each said. Raises RuntimeError for one that failed."""
        for process, path in zip(self.processes, self._outputs, strict=True):
            if process.returncode != 0:
                raise RuntimeError(f"a host failed:\n{path.read_text(errors='replace')[-2_000:]}")
        lines = [path.read_text().splitlines() for path in self._outputs]
        return [json.loads(next(line for line in found if line.startswith("{"))) for found in lines]

    def close(self) -> None:
        """End those that still run."""
        for process in self.processes:
            if process.poll() is None:
                end(process, signal.SIGTERM, STOP_SECONDS)
