"""The one event loop of a worker process, in a thread of its own, with store, summarisers and tick on it."""

from __future__ import annotations

import asyncio
import secrets
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from socket import gethostname
from typing import Any, Final

from ebbtide_core import metrics
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.errors import EbbtideError
from ebbtide_core.metrics import NullRecorder, Recorder
from ebbtide_core.permits import PermitSender
from ebbtide_core.store.client import AsyncStore
from ebbtide_worker.cancelling import cancelled
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.ending import log
from ebbtide_worker.health_server import HealthServer
from ebbtide_worker.heartbeat import keep_beating
from ebbtide_worker.maintenance import keep_ticking
from ebbtide_worker.shop import Shop, new_shop
from ebbtide_worker.work import work

_SETTLE_SECONDS: Final = 5.0
"""How long jobs that were told to end may take to settle."""


@dataclass
class Running:
    """What a started runtime holds. `drains` are the tasks that take jobs, `upkeep` those that go on all the
    time.
    """

    shop: Shop
    store: AsyncStore
    permits: PermitSender
    probes: HealthServer | None = None
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    drains: set[asyncio.Task[Any]] = field(default_factory=set)
    upkeep: set[asyncio.Task[None]] = field(default_factory=set)


class Runtime:
    """Runs drains for the threads of a Celery pool. Make one a process, and `start` it before `work`."""

    def __init__(self, config: WorkerConfig, recorder: Recorder | None = None) -> None:
        self._config = config
        self._recorder = recorder or NullRecorder()
        self._running: Running | None = None
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the loop with its upkeep, and the server for probes if one is asked for; nothing connects
        yet.

        No effect when it runs. Raises InputError, and EbbtideError when the probes' port can't be had.
        """
        if self._running is not None:
            return
        config = self._config
        store = AsyncStore(config.state, timeout=config.store_timeout, recorder=self._recorder)
        permits = PermitSender(config.broker)
        worker_id = f"{gethostname()}.{secrets.token_hex(4)}"
        shop = new_shop(config, worker_id=worker_id, store=store, recorder=self._recorder, permits=permits)
        probes = _probes(shop)
        self._running = Running(shop, store, permits, probes)
        self._thread = threading.Thread(target=_run, args=(self._running,), name="ebbtide-loop", daemon=True)
        self._thread.start()

    def work(self) -> int:
        """Take jobs until there are none, and return how many ran. For a thread that received a permit.

        Raises EbbtideError when the runtime was never started.
        """
        drain = self._begun()
        return drain.result() if drain else 0

    def _begun(self) -> Future[int] | None:
        """Return a drain that the loop has been given, None once the runtime is stopped."""
        with self._lock:
            if self._stopped:
                return None
            if self._running is None:
                raise EbbtideError("the worker's runtime is not started: run the app as a Celery worker")
            self._running.shop.health.received()
            self._recorder.count(metrics.PERMITS, what="received")
            return asyncio.run_coroutine_threadsafe(_drain(self._running), self._running.loop)

    def ask_to_stop(self) -> None:
        """Take no more jobs from now on, and give those that run `grace` seconds; asked again, none.

        Returns at once, and may be called by a signal handler. No effect unless it runs.
        """
        running = self._running
        if running is not None:
            running.loop.call_soon_threadsafe(_asked_to_stop, running)

    def stop(self) -> None:
        """Take no more jobs, give those that run `grace` seconds, since they were first told, then hand them
        back, and stop the loop.
        """
        with self._lock:
            running = self._running
            if running is None or self._thread is None or self._stopped:
                return
            self._stopped = True
        asyncio.run_coroutine_threadsafe(_wind_down(running), running.loop).result()
        self._running = None
        running.loop.call_soon_threadsafe(running.loop.stop)
        self._thread.join()
        self._thread = None
        running.loop.close()


def _probes(shop: Shop) -> HealthServer | None:
    config = shop.config
    return HealthServer(shop.health, config.health_host, config.health_port) if config.health_port else None


def _run(running: Running) -> None:
    asyncio.set_event_loop(running.loop)
    running.upkeep |= {running.loop.create_task(keep(running.shop)) for keep in (keep_ticking, keep_beating)}
    running.loop.run_in_executor(None, tokenizer)  # loaded before the first job needs it
    running.loop.run_forever()
    running.loop.run_until_complete(running.loop.shutdown_default_executor())


async def _drain(running: Running) -> int:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  a coroutine always runs in a task here
    running.drains.add(task)
    try:
        return await work(running.shop)
    finally:
        running.drains.discard(task)


def _asked_to_stop(running: Running) -> None:
    if running.shop.stopping.is_set():
        running.shop.expired.set()
    else:
        _take_no_more(running)


def _take_no_more(running: Running) -> None:
    """Begin the grace of the jobs that run, unless it has begun."""
    shop = running.shop
    if not shop.stopping.is_set():
        shop.stopping.set()
        shop.health.stop()
        running.loop.call_later(shop.config.grace, shop.expired.set)
        log.info("stopping: no more jobs are taken, those that run get %g s to end", shop.config.grace)


async def _wind_down(running: Running) -> None:
    shop = running.shop
    _take_no_more(running)
    expired = asyncio.create_task(shop.expired.wait())
    while running.drains and not expired.done():
        await asyncio.wait({*running.drains, expired}, return_when=asyncio.FIRST_COMPLETED)
    shop.expired.set()
    if running.drains:
        await asyncio.wait(set(running.drains), timeout=_SETTLE_SECONDS)
    await cancelled(*running.drains, *running.upkeep, expired)
    await shop.summarisers.close()
    await running.store.close()
    await asyncio.to_thread(_close_others, running)


def _close_others(running: Running) -> None:
    running.permits.close()
    if running.probes is not None:
        running.probes.close()
