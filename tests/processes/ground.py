"""All parts of one test: server, two workers, the pool of this host process, the stand-in."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import redis

from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core import names
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.jsonio import unpack
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, fleet_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from tests.processes.asked import Call
from tests.processes.hosts import Host
from tests.processes.talk import TENANT
from tests.processes.workers import NAMES, Worker, await_ready, start
from tests.standin import StandIn

LEASE: Final = 3.0
GRACE: Final = 5.0
POLICY: Final = Policy(
    keep_recent_tokens=600,
    min_new_tokens=100,
    chunk_tokens=400,
    summary_max_tokens=2_000,
    io_budget=2.0,
    wait_budget=0.0,
    claim_lease=LEASE,
    swap_ratio=0.7,
)
"""Many small chunks, a summary that can name them all; a slow machine is no fault of the store."""


class Ground:
    """`with Ground(folder) as ground:` starts all of it and ends it. `settings` are of the worker command."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.standin = StandIn()
        self.server = EmbeddedServer(tcp=True, appendonly=True)
        self.workers: list[Worker] = []
        self.hosts: list[Host] = []
        self._folder = folder
        self._settings = {
            "base_url": self.standin.url,
            "summariser": "anthropic",
            "running_lease": LEASE,
            "tick": 0.5,
            "concurrency": 1,
            "grace": GRACE,
            "log_format": "json",
            **settings,
        }
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.enter_context(self.standin)
            opened.enter_context(self.server)
            opened.callback(self._end_workers)
            self.renew()
            self.pool = opened.enter_context(Pool(self.server.url, policy=POLICY))
            self.store = SyncStore(self.server.url, timeout=10.0)
            opened.callback(self.store.close)
            self.data: Any = redis.Redis.from_url(self.server.url)
            opened.callback(self.data.close)
            opened.callback(self.stop_hosts)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def renew(self) -> None:
        """Have two workers that take jobs, new ones for those that ended, and no memory of earlier tests."""
        self.standin.control.reset()
        alive = [worker for worker in self.workers if worker.alive]
        missing = [name for name in NAMES if name not in [worker.name for worker in alive]]
        settings = {"state": self.server.url, **self._settings}
        self.workers = [*alive, *(start(self._folder, name, **settings) for name in missing)]
        await_ready(*self.workers)
        for worker in self.workers:
            worker.forget()

    def _end_workers(self) -> None:
        for worker in self.workers:
            worker.kill()

    def start_hosts(self, number: int) -> None:
        """Start hosts in a loop, each with a session of its own."""
        self.hosts += [Host(self.pool, f"chat{n}") for n in range(number)]

    def stop_hosts(self) -> None:
        """End their loops."""
        for host in self.hosts:
            host.stop()

    def maker(self, call: Call) -> tuple[Worker, Worker]:
        """Return the worker that made a call, and the other one."""
        one, two = self.workers
        return (one, two) if call.worker == one.name else (two, one)

    def record(self, session_id: str, version: int) -> SummaryRecord | None:
        """Return a version of a session, None when there is none."""
        packed = self.store.run(blob_calls.record_get(Owner(TENANT, session_id), version))
        return None if packed is None else SummaryRecord.from_json(unpack(packed))

    def tally(self, session_id: str) -> dict[str, int]:
        """Return how often what happened to a session's jobs."""
        return self.store.run(tally_calls.tally(Owner(TENANT, session_id)))

    def claimed(self, session_id: str) -> int:
        """Return how many messages of the lineage the claimed compaction stands for, 0 without a claim."""
        position = self.data.hget(Owner(TENANT, session_id).state, "claim_position")
        return int(position.partition(b":")[0]) if position else 0

    def memos(self) -> int:
        """Return how many partials are memoised."""
        return sum(1 for _ in self.data.scan_iter(names.memo(TENANT, "*")))

    def running(self) -> int:
        """Return how many attempts run, -1 while the server is away."""
        try:
            return self.store.run(fleet_calls.depth()).running
        except StoreUnavailable:
            return -1

    def waiting(self) -> int:
        """Return how many jobs no worker has taken yet."""
        return self.store.run(fleet_calls.depth()).ready

    def idle(self) -> bool:
        """Say that no job waits and none runs."""
        return not self.waiting() and not self.running()
