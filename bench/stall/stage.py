"""Where sessions are played: server, worker and stand-in as processes of their own, all times scaled."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import psutil
from anthropic import Anthropic, DefaultHttpxClient
from tests.standin import Process, Settings

from bench.samples import percentile
from bench.stall.hosts import SUMMARISER, Host, Moment
from bench.stall.plays import Play
from bench.stall.worker import KEY_ENV, Worker, working
from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.dialects.base import Message
from ebbtide_worker.config import WorkerConfig

AT_ONCE: Final = 128
"""Jobs and calls that the worker does side by side: more than ever come together here."""


@dataclass(frozen=True, slots=True)
class Times:
    """Ebbtide's times divided by `scale`, as all others here are.

    Leases are not: no worker dies here, and scaled ones would run out at a hiccup of the machine.
    """

    scale: float

    def policy(self, **settings: int) -> Policy:
        """Return a host's policy."""
        usual = Policy()
        names = ("wait_budget", "max_queue_age", "job_deadline", "tick")
        return Policy.model_validate({**{n: getattr(usual, n) / self.scale for n in names}, **settings})

    def config(self, url: str, base_url: str) -> WorkerConfig:
        """Return a worker's settings."""
        policy, usual = self.policy(), WorkerConfig("", "")
        return WorkerConfig(
            broker=url,
            state=url,
            concurrency=AT_ONCE,
            map_per_process=AT_ONCE,
            running_lease=policy.running_lease,
            renew_every=usual.renew_every / self.scale,
            ask_again=usual.ask_again / self.scale,
            tick=policy.tick,
            max_queue_age=policy.max_queue_age,
            job_deadline=policy.job_deadline,
            summariser="anthropic",
            model=SUMMARISER,
            base_url=base_url,
            key_env=KEY_ENV,
        )


@dataclass
class Stage:
    """What the hosts of a run talk to."""

    scale: float
    pool: Pool
    client: Anthropic
    standin: Process
    worker: Worker
    server: int

    def latency(self, seconds: float) -> None:
        """Let every call of the model take so long, in unscaled seconds, and forget earlier calls."""
        self.standin.control.set(Settings(reset=True, latency=seconds / self.scale))


@contextmanager
def staged(scale: float) -> Iterator[Stage]:
    """Yield a stage; all its processes end with it."""
    times = Times(scale)
    logging.getLogger("ebbtide").addHandler(logging.NullHandler())
    with ExitStack() as opened:
        standin = opened.enter_context(Process())
        server = opened.enter_context(EmbeddedServer(tcp=True))
        config = times.config(server.url, standin.url)
        worker = opened.enter_context(working(config, server.data_dir))
        pool = opened.enter_context(Pool(server.url, policy=times.policy()))
        client = opened.enter_context(
            Anthropic(
                api_key="k-bench",
                base_url=standin.url,
                max_retries=0,
                http_client=DefaultHttpxClient(trust_env=False),
            )
        )
        yield Stage(scale, pool, client, standin, worker, server.pid)


@dataclass(frozen=True, slots=True)
class Part:
    """One session to play, through a host of its own kind, `begins` seconds (as they pass here) after the
    others. `watched`: whether turns that begin late tell of a busy machine, and not of a hurried session.
    """

    play: Play
    host: Callable[[], Host]
    begins: float
    watched: bool


@dataclass(frozen=True, slots=True)
class Load:
    """What a run did to the machine.

    `machine`: share of all cores that was busy, `own`: that this run kept busy. `late`: by how many seconds
    (as they passed here) turns of watched sessions began too late, at the 99th percentile.
    """

    machine: float
    own: Mapping[str, float]
    late: float


def played(stage: Stage, parts: Sequence[Part]) -> tuple[list[list[Moment]], Load]:
    """Play all sessions side by side, a thread each. Returns each one's turns, and the load."""
    processes = {
        "hosts": psutil.Process(),
        "worker": psutil.Process(stage.worker.process.pid),
        "stand-in": psutil.Process(stage.standin.pid),
        "server": psutil.Process(stage.server),
    }
    before = {name: _used(process) for name, process in processes.items()}
    psutil.cpu_percent()
    lateness: list[float] = []
    stop = threading.Event()
    began = time.monotonic()
    with ThreadPoolExecutor(len(parts), thread_name_prefix="session") as threads:
        try:
            moments = list(threads.map(lambda p: _played(p, stage.scale, began, lateness, stop), parts))
        finally:
            stop.set()
    all_cores = (time.monotonic() - began) * (psutil.cpu_count() or 1)
    own = {name: (_used(process) - before[name]) / all_cores for name, process in processes.items()}
    return moments, Load(psutil.cpu_percent() / 100, own, percentile(lateness, 0.99))


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _played(
    part: Part, scale: float, began: float, lateness: list[float], stop: threading.Event
) -> list[Moment]:
    """Play one session. A turn begins a gap after the one before, however long that took, except that what
    it waited for a model delays all that follows.
    """
    play, host = part.play, part.host()
    buffer: list[Message] = list(play.messages[: play.start])
    gaps = iter(play.gaps)
    due, moments = began + part.begins, []
    for message in play.messages[play.start :]:
        if message["role"] == "assistant":
            if stop.wait(max(0.0, due - time.monotonic())):
                break
            if part.watched:
                lateness.append(time.monotonic() - due)
            buffer, moment = host.turn(buffer)
            buffer = list(buffer)
            moments.append(moment)
            due += next(gaps) / scale + moment.held
        buffer.append(message)
    return moments
