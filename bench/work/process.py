"""One worker process of a benchmark, and what can be read of it from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self
from urllib.request import ProxyHandler, build_opener

import psutil
from prometheus_client.parser import text_string_to_metric_families
from tests.waiting import wait_until

from ebbtide_cli.child import end, spawn
from ebbtide_core.metrics import Metric

ROOT: Final = Path(__file__).resolve().parents[2]
KEY_ENV: Final = "BENCH_KEY"

_READY_SECONDS: Final = 60.0
_ENDED: Final = b'"event": "job ended: '
_OPENER: Final = build_opener(ProxyHandler({}))


def peak_mb(pid: int) -> float:
    """Return the most memory that a process ever had resident, in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return kib * 1024 / 1e6


class Worker:
    """`with Worker(folder, **config) as worker:` starts one and ends it; config is that of `WorkerConfig`.

    Several may share a folder under different names.
    """

    def __init__(self, folder: Path, name: str = "worker", **config: Any) -> None:
        self._config = config
        self._log = folder / f"{name}.log"
        self._ready = folder / f"{name}.ready"
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    def __enter__(self) -> Self:
        env = {
            **os.environ,
            KEY_ENV: "bench",
            "no_proxy": "127.0.0.1",
            "BENCH_WORKER": json.dumps(self._config),
            "BENCH_READY": str(self._ready),
        }
        command = [sys.executable, "-m", "bench.work.worker"]
        with self._log.open("wb") as output:
            self._process = spawn(command, death_signal=signal.SIGKILL, output=output, cwd=ROOT, env=env)
        wait_until(self._is_ready, "the worker takes jobs", _READY_SECONDS)
        self._url = f"http://127.0.0.1:{self._ready.read_text()}/metrics"
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            end(self._process, signal.SIGTERM, 10.0)

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text(errors="replace")[-2_000:]
        return self._ready.exists() and bool(self._ready.read_text())

    @property
    def pid(self) -> int:
        """The process's id."""
        assert self._process is not None
        return self._process.pid

    @property
    def ended(self) -> int:
        """How many attempts it has ended so far, read from its log: that costs the worker nothing."""
        return self._log.read_bytes().count(_ENDED)

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far, user and system."""
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    @property
    def peak_mb(self) -> float:
        """The most memory that it ever had resident, in MB."""
        return peak_mb(self.pid)

    def counts(self, metric: Metric) -> Counter[tuple[str, ...]]:
        """Return a counter's series by their label values, in the order in which the metric names them."""
        found: Counter[tuple[str, ...]] = Counter()
        for labels, value in self._samples(metric.name):
            found[tuple(labels[label] for label in metric.labels)] += int(value)
        return found

    def buckets(self, metric: Metric) -> Counter[float]:
        """Return a histogram's cumulative counts by upper bound, all its series together."""
        found: Counter[float] = Counter()
        for labels, value in self._samples(f"{metric.name}_bucket"):
            found[float(labels["le"])] += int(value)
        return found

    def _samples(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        with _OPENER.open(self._url, timeout=10) as response:
            families = text_string_to_metric_families(response.read().decode())
        for family in families:
            yield from ((dict(s.labels), s.value) for s in family.samples if s.name == name)
