"""All parts that a benchmark of the worker needs: state store, broker, stand-in, one worker process."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

import redis
from tests.standin import Behaviour, Process, Rate, Settings

from bench.work.process import KEY_ENV, Worker
from bench.work.talk import notes
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.permits import PermitSender
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore

ANSWER_ITEMS: Final = 8
"""Decisions in an answer of the stand-in: about 250 tokens of notes."""


class Ground:
    """`with Ground(**config) as ground:` starts all of it; `config` is that of the worker.

    State store and broker are two servers over TCP, so that their commands are counted apart.
    """

    def __init__(self, **config: Any) -> None:
        self.state = EmbeddedServer(tcp=True)
        self.broker = EmbeddedServer(tcp=True)
        self._config = config
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
            self.standin = opened.enter_context(Process())
            opened.enter_context(self.state)
            opened.enter_context(self.broker)
            config = {"base_url": self.standin.url, "key_env": KEY_ENV, **self._config}
            urls = {"state": self.state.url, "broker": self.broker.url}
            self.worker = opened.enter_context(Worker(folder, **urls, **config))
            self.store = SyncStore(self.state.url, timeout=10.0)
            opened.callback(self.store.close)
            self.permits = PermitSender(self.broker.url)
            opened.callback(self.permits.close)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def shelf(self) -> str:
        """A broker URL where no worker listens: permits that hosts send there let nobody begin."""
        return self.broker.url.removesuffix("/0") + "/1"

    def answer(self, latency: float, seed: int = 0) -> None:
        """Have the stand-in forget all requests, and answer with notes of a plausible size from now on."""
        told = Behaviour(fields=notes(random.Random(seed), ANSWER_ITEMS))
        rates = (Rate(share=1, behaviour=told),)
        self.standin.control.set(Settings(reset=True, latency=latency, rates=rates))

    def idle(self) -> bool:
        """Say that no job waits and none runs."""
        depth = self.store.run(fleet_calls.depth())
        return not depth.ready and not depth.running

    def commands(self, server: EmbeddedServer) -> Counter[str]:
        """Return how many commands a server was given so far, by name; not those that ask for this."""
        client: Any = redis.Redis.from_url(server.url)
        told = client.info("commandstats")
        client.close()
        counts = {name.removeprefix("cmdstat_"): int(figures["calls"]) for name, figures in told.items()}
        return Counter(
            {n: c for n, c in counts.items() if n.partition("|")[0] not in ("info", "client", "hello")}
        )
