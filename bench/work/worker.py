"""A worker process for benchmarks: `python -m bench.work.worker`, its config as JSON in `BENCH_WORKER`.

It is what `ebbtide worker --metrics-port` runs, with every field of the config open to the benchmark. Once
jobs are taken, the port of its metrics is in the file that `BENCH_READY` names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from celery import signals
from prometheus_client import start_http_server

from ebbtide_cli import log
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_monitoring.prometheus import PrometheusRecorder
from ebbtide_worker.app import create_app, serve
from ebbtide_worker.config import WorkerConfig


def main() -> None:
    """Run a worker until it is told to stop."""
    log.set_up("json", "info")
    tokenizer()
    recorder = PrometheusRecorder()
    server, _ = start_http_server(0, "127.0.0.1")
    ready = Path(os.environ["BENCH_READY"])

    def keep_logging(**_: Any) -> None:
        """Leave logging as it is."""

    def tell(**_: Any) -> None:
        ready.write_text(str(server.server_port))

    signals.setup_logging.connect(keep_logging, weak=False)
    signals.worker_ready.connect(tell, weak=False)
    serve(create_app(WorkerConfig(**json.loads(os.environ["BENCH_WORKER"])), recorder))


if __name__ == "__main__":
    main()
