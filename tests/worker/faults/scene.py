"""All parts of a rehearsal: server, stand-in, worker process, a host beside them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self
from urllib.request import ProxyHandler, build_opener

import redis
from prometheus_client.parser import text_string_to_metric_families

from ebbtide.courier import Courier
from ebbtide.turns.memory import Mailbox
from ebbtide_cli.child import end, spawn
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import names
from ebbtide_core.metrics import NullRecorder
from ebbtide_core.permits import PermitSender
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import ClaimStatus
from tests.standin import StandIn
from tests.waiting import wait_until
from tests.worker.hostside import HostSide

ROOT: Final = Path(__file__).resolve().parents[3]
KEY: Final = "sk-ant-test-0123456789abcdef"
KEY_ENV: Final = "EBBTIDE_TEST_KEY"

Figures = Counter[tuple[str, ...]]
"""Counters by name and label values."""


class Scene:
    """`with Scene(folder) as scene:` starts all of it, and ends it."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "worker.log"
        self._port = folder / "worker.port"
        self._open = ExitStack()
        self._heard = 0

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self.server = opened.enter_context(EmbeddedServer())
            self.standin = opened.enter_context(StandIn())
            self.store = SyncStore(self.server.url, timeout=10.0)
            self.data: Any = redis.Redis.from_url(self.server.url)
            opened.callback(self.data.close)
            self._courier = Courier(self.store, PermitSender(self.server.url), NullRecorder())
            opened.callback(self._courier.close, 10.0)
            self._worker = self._started()
            opened.callback(end, self._worker, signal.SIGTERM, 30.0)
            wait_until(self._ready, "the worker takes jobs", 90)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _started(self) -> subprocess.Popen[bytes]:
        config = {
            "broker": self.server.url,
            "state": self.server.url,
            "summariser": "anthropic",
            "base_url": self.standin.url,
            "key_env": KEY_ENV,
            "concurrency": 2,
            "tick": 1.0,
            "grace": 1.0,
            "retry_base": 0.02,
            "retry_cap": 0.1,
        }
        told = {"TEST_WORKER": json.dumps(config), "TEST_PORT": str(self._port), KEY_ENV: KEY}
        env = {**os.environ, **told, "no_proxy": "127.0.0.1"}
        command = [sys.executable, "-m", "tests.worker.faults.program"]
        with self._log.open("wb") as output:
            return spawn(command, death_signal=signal.SIGKILL, output=output, cwd=ROOT, env=env)

    def _ready(self) -> bool:
        assert self.alive, self.said
        return " ready." in self.said

    @property
    def alive(self) -> bool:
        """Does the worker run?"""
        return self._worker.poll() is None

    @property
    def said(self) -> str:
        """What the worker logged since the last `listen`."""
        return self._log.read_bytes()[self._heard :].decode(errors="replace")

    def listen(self) -> None:
        """Forget what the worker logged, and let the provider recover."""
        self._heard = self._log.stat().st_size
        self.recover()

    def recover(self) -> None:
        """Forget what the stand-in was told and asked, and what is known of accounts: no block or limit is
        left to sit out.
        """
        self.standin.control.reset()
        for key in self.data.scan_iter(names.account("").replace("{a:", "{a:*")):
            self.data.delete(key)

    def figures(self) -> Figures:
        """Return all counters of the worker, scraped as Prometheus would."""
        url = f"http://127.0.0.1:{self._port.read_text()}/metrics"
        with build_opener(ProxyHandler({})).open(url, timeout=30) as response:
            return Counter(dict(_counters(response.read().decode())))

    def do(self, host: HostSide, messages: list[dict[str, Any]]) -> None:
        """Have one job claimed, uploaded, announced through the broker, taken and ended."""
        assert self.claim(host, messages) is ClaimStatus.OWN

    def claim(self, host: HostSide, messages: list[dict[str, Any]]) -> ClaimStatus:
        """Ask for a job, wait for its end if there is one, and return the answer to the claim."""
        mailbox = Mailbox()
        assert self._courier.submit(host.order(messages), mailbox)
        assert self._courier.flush(30.0)
        assert mailbox.faults() == ()
        assert mailbox.claim is not None
        wait_until(self._idle, "the job has ended", 60)
        return mailbox.claim

    def _idle(self) -> bool:
        depth = self.store.run(fleet_calls.depth())
        return depth.ready == depth.running == 0


def _counters(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith("ebbtide_") and sample.name.endswith("_total"):
                labels = (sample.labels[name] for name in sorted(sample.labels))
                yield (sample.name, *labels), int(sample.value)
