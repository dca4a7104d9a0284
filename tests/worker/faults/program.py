"""The worker process of the rehearsals: `python -m tests.worker.faults.program`, its config in `TEST_WORKER`.

It serves its metrics on a free port, which it writes to the file that `TEST_PORT` names. Besides the usual
summarisers it has `impatient`, the real one with a deadline of three seconds.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import replace
from pathlib import Path

from prometheus_client import start_http_server

from ebbtide_monitoring.prometheus import PrometheusRecorder
from ebbtide_worker.app import create_app, serve
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.summarisers import registry
from ebbtide_worker.summarisers.anthropic import Anthropic
from ebbtide_worker.summarisers.base import Summariser

IMPATIENT = "impatient"
DEADLINE = 3.0


def _impatient(config: WorkerConfig) -> Summariser:
    return Anthropic.of(replace(config, call_deadline=DEADLINE))


def _with_fields(record: logging.LogRecord) -> bool:
    record.msg = f"{record.msg} {record.__dict__.get('ebbtide', '')}".rstrip()
    return True


def main() -> None:
    """Run a worker until it is told to stop."""
    logging.basicConfig(level=logging.INFO)
    logging.getLogger().handlers[0].addFilter(_with_fields)
    registry.register(IMPATIENT, _impatient)
    app = create_app(WorkerConfig(**json.loads(os.environ["TEST_WORKER"])), PrometheusRecorder())
    server, _ = start_http_server(0, "127.0.0.1")
    Path(os.environ["TEST_PORT"]).write_text(str(server.server_port))
    serve(app, "--loglevel=INFO")


if __name__ == "__main__":
    main()
