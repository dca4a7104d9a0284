"""A worker process for tests: `python -m tests.worker.apps`, its config as JSON in `TEST_WORKER`.

Its summariser `held` waits as long as the file exists that `TEST_HOLD` names. `TEST_OPTIONS` may hold
`without_fix`, which leaves kombu as it is, and `remote_control`, which has the worker listen for Celery's
remote commands. SIGUSR2 stalls the thread that listens to the broker, for good.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from ebbtide_core.summary.model import Summary
from ebbtide_worker import kombu_fix
from ebbtide_worker.app import create_app, serve
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.summarisers import registry
from ebbtide_worker.summarisers.base import Chunk, Partial, Terms
from ebbtide_worker.summarisers.extractive import Extractive


class Held:
    """Extraction that waits while a file exists."""

    name = "held"
    model = ""
    fingerprint = "held/1"
    window = 1 << 40

    def __init__(self, hold: Path) -> None:
        self._hold = hold
        self._extractive = Extractive()

    async def map(self, chunk: Chunk, terms: Terms) -> Partial:
        """Wait, then extract."""
        while self._hold.exists():
            await asyncio.sleep(0.05)
        return await self._extractive.map(chunk, terms)

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Merge."""
        return await self._extractive.merge(parts, base, terms)

    async def close(self) -> None:
        """Nothing to close."""


def _with_fields(record: logging.LogRecord) -> bool:
    record.msg = f"{record.msg} {record.__dict__.get('ebbtide', '')}".rstrip()
    return True


def _stall(*_: object) -> None:
    threading.Event().wait()


def main() -> None:
    """Run a worker until it is told to stop."""
    signal.signal(signal.SIGUSR2, _stall)
    logging.basicConfig(level=logging.INFO)
    logging.getLogger().handlers[0].addFilter(_with_fields)
    hold = Path(os.environ["TEST_HOLD"])
    registry.register("held", lambda _: Held(hold))
    options = os.environ["TEST_OPTIONS"].split()
    version = "no version" if "without_fix" in options else kombu_fix.MADE_FOR
    with patch.object(kombu_fix, "MADE_FOR", version):
        app = create_app(WorkerConfig(**json.loads(os.environ["TEST_WORKER"])))
    app.conf.worker_enable_remote_control = "remote_control" in options
    serve(app, "--loglevel=INFO")


if __name__ == "__main__":
    main()
