"""The program of the worker's process: `python -m bench.stall.serve CONFIG READY_FILE`.

The command `ebbtide worker` has no flags for all the times that are scaled here, so this gives them to the
same `serve`. What jobs take is written as JSON lines to standard output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from celery import signals

from ebbtide_core import metrics
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.metrics import Metric
from ebbtide_worker.app import create_app, serve
from ebbtide_worker.config import WorkerConfig


class Phases:
    """A recorder that writes what jobs took, and how they ended."""

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Tell of an attempt's end."""
        if metric is metrics.JOBS:
            _tell(ended=f"{labels['outcome']}: {labels['reason']}")

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Tell of a phase, or of the time in the queue."""
        if metric in (metrics.JOB_SECONDS, metrics.QUEUE_SECONDS):
            _tell(phase=labels.get("phase", "queue"), seconds=value)


def _tell(**figures: object) -> None:
    """Write a line at once and in one piece: threads tell side by side."""
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until told to stop."""
    config, ready = WorkerConfig(**json.loads(sys.argv[1])), Path(sys.argv[2])
    tokenizer()

    def keep_logging(**_: Any) -> None:
        """Leave logging as it is: a receiver here is Celery's way to be told so."""

    def started(**_: Any) -> None:
        ready.touch()

    signals.setup_logging.connect(keep_logging, weak=False)
    signals.worker_ready.connect(started, weak=False)
    serve(create_app(config, Phases()))


if __name__ == "__main__":
    main()
