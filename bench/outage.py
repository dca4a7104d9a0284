"""What hosts feel while the state store or the broker is frozen or gone, and how soon jobs flow again."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Final

from tests.host.talk import chat, said

from bench.report import Goal, Result
from bench.samples import median, percentile
from bench.work.process import Worker
from ebbtide import AsyncPool, Policy, Pool, Turn
from ebbtide_cli.embedded import EmbeddedServer

SESSIONS: Final = 8
WINDOW: Final = 8_000
THINKS: Final = 0.1
POLICY: Final = Policy(wait_budget=0.5, min_turns_between_swaps=0, swap_ratio=0.7)
"""Tokens that a session holds, seconds between its turns, and how it is kept."""

PATIENCE: Final = 30.0
GOAL: Final = 10.0
"""Seconds until jobs flow again: given up, and aimed for."""

P99: Final = POLICY.io_budget + 0.1
LONGEST: Final = 2 * POLICY.io_budget + 0.3
"""Seconds of one `prepare`, without what it waited for a record: aimed for."""

NAP: Final = 0.01
"""Seconds that the yardstick sleeps, beside the sessions and in their process."""

PHASES: Final = ("well", "frozen", "thawed", "gone", "back")

_COLUMNS: Final = (
    "host, server, phase", "turns", "p50 ms", "p99 ms", "max ms", "late p99 ms", "late max ms", "raised",
    "jobs flow after s",
)  # fmt: skip

Answer = tuple[Turn, float]
Ask = Callable[[list[Any]], Answer]


def run(*, quick: bool) -> Result:
    """Freeze, kill and restart either server under a sync and under an async host. Quick: all of it short."""
    logging.getLogger("ebbtide").addHandler(logging.NullHandler())
    lasts = 1.0 if quick else 10.0
    trials = [
        played(side, which, lasts) for side in (SyncSide, AsyncSide) for which in ("state store", "broker")
    ]
    return Result(
        name="outage",
        title=f"prepare of {SESSIONS} sessions while a server is away, without waiting for records",
        columns=_COLUMNS,
        rows=tuple(row for trial in trials for row in trial.rows()),
        goals=tuple(goal for trial in trials for goal in trial.goals()),
        notes=(
            f"Each session takes a turn every {THINKS} s, from below soft to above hard.",
            f"A phase lasts {lasts:g} s.",
            "Frozen and thawed: SIGSTOP and SIGCONT. Gone and back: SIGKILL, and a new server without data.",
            f"Late: how much later than asked a thread of the host wakes from {1000 * NAP:g} ms of sleep:",
            "so long processor and interpreter lock, not a server, let a thread wait.",
            "Jobs flow: seconds from the server's return until a session made then swaps a record in.",
        ),
    )


@dataclass
class Trial:
    """One host and one server. `phase` is the present one; a turn counts for the one in which it ended."""

    name: str
    phase: str = PHASES[0]
    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in PHASES})
    late: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in PHASES})
    raised: list[tuple[str, str]] = field(default_factory=list)
    flowed: dict[str, float] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str | int | float, ...]]:
        """Return a row for each phase."""
        for phase, seconds in self.seconds.items():
            figures = (median(seconds), *_tail(seconds), *_tail(self.late[phase])) if seconds else (0,) * 5
            told = [round(1000 * figure, 1) for figure in figures]
            raised = sum(where == phase for where, _ in self.raised)
            flowed = self.flowed.get(phase, "")
            yield (f"{self.name}, {phase}", len(seconds), *told, raised, flowed)

    def goals(self) -> Iterator[Goal]:
        """Return what law 10 promises, beside the worst phase."""
        p99 = max(percentile(seconds, 0.99) for seconds in self.seconds.values() if seconds)
        longest = max(max(seconds) for seconds in self.seconds.values() if seconds)
        flowed = max(self.flowed.values())
        yield _goal(f"{self.name}: p99 of a phase", P99, p99)
        yield _goal(f"{self.name}: longest prepare", LONGEST, longest)
        yield _goal(f"{self.name}: until jobs flow", GOAL, flowed)
        told = "; ".join(sorted({what for _, what in self.raised})) or "nothing"
        yield Goal(f"{self.name}: raised", "nothing", told, not self.raised)


def _tail(seconds: list[float]) -> tuple[float, float]:
    return (percentile(seconds, 0.99), max(seconds)) if seconds else (0.0, 0.0)


def _goal(what: str, most: float, found: float) -> Goal:
    return Goal(what, f"at most {most:g} s", f"{found:.3f} s", found <= most)


class SyncSide:
    """A host with threads."""

    name = "sync"

    def __init__(self, broker: str, state: str) -> None:
        self._pool = Pool(broker, state, policy=POLICY)

    def session(self, name: str) -> Ask:
        """Return what takes a turn of a new session, and the seconds that took."""
        session = self._pool.session(tenant="bench", session_id=name, model="gpt", context_window=WINDOW)

        def ask(messages: list[Any]) -> Answer:
            began = time.perf_counter()
            turn = session.prepare(messages)
            return turn, time.perf_counter() - began

        return ask

    def close(self) -> None:
        """End it."""
        self._pool.close()


class AsyncSide:
    """A host with an event loop, in a thread of its own; seconds are measured within the loop."""

    name = "async"

    def __init__(self, broker: str, state: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._thread.start()
        self._pool = AsyncPool(broker, state, policy=POLICY)

    def session(self, name: str) -> Ask:
        """Return what takes a turn of a new session, and the seconds that took."""
        session = self._pool.session(tenant="bench", session_id=name, model="gpt", context_window=WINDOW)

        async def ask(messages: list[Any]) -> Answer:
            began = time.perf_counter()
            turn = await session.prepare(messages)
            return turn, time.perf_counter() - began

        return lambda messages: self._done(ask(messages))

    def _done(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """End it."""
        self._done(self._pool.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def played(make: type[SyncSide | AsyncSide], which: str, lasts: float) -> Trial:
    """Return one trial, played from phase to phase."""
    trial = Trial(f"{make.name}, {which}")
    with (
        TemporaryDirectory() as folder,
        EmbeddedServer(tcp=True) as state,
        EmbeddedServer(tcp=True) as broker,
        Worker(Path(folder), broker=broker.broker_url, state=state.url, concurrency=4),
    ):
        hit = state if which == "state store" else broker
        steps: dict[str, Callable[[], object]] = {
            "well": lambda: None,
            "frozen": partial(_signal, hit, signal.SIGSTOP),
            "thawed": partial(_signal, hit, signal.SIGCONT),
            "gone": hit.kill,
            "back": hit.start,
        }
        side = make(broker.broker_url, state.url)
        try:
            with talking(side, trial):
                for phase in PHASES:
                    _enter(trial, phase, steps[phase], side, lasts)
        finally:
            side.close()
    return trial


def _signal(server: EmbeddedServer, number: int) -> None:
    os.kill(server.pid, number)


def _enter(
    trial: Trial, phase: str, step: Callable[[], object], side: SyncSide | AsyncSide, lasts: float
) -> None:
    """Begin a phase and let it last. Where the server answers, find out when jobs flow."""
    step()
    trial.phase, began = phase, time.monotonic()
    if phase in ("well", "thawed", "back"):
        trial.flowed[phase] = round(_flows(side.session(f"probe-{phase}"), began), 2)
    time.sleep(max(0.0, began + lasts - time.monotonic()))


def _flows(ask: Ask, began: float) -> float:
    """Return the seconds until a session has its first record."""
    messages = chat(50)
    while time.monotonic() < began + PATIENCE:
        turn, _ = ask(messages)
        if turn.swap is not None:
            break
        time.sleep(0.05)
    return time.monotonic() - began


@contextmanager
def talking(side: SyncSide | AsyncSide, trial: Trial) -> Iterator[None]:
    """Let sessions take turns until the block is left."""
    ended = Event()
    threads = [
        Thread(target=_talk, args=(side.session(f"session-{n}"), trial, ended)) for n in range(SESSIONS)
    ]
    threads.append(Thread(target=_nap, args=(trial, ended)))
    for thread in threads:
        thread.start()
    yield
    ended.set()
    for thread in threads:
        thread.join()


def _nap(trial: Trial, ended: Event) -> None:
    """Sleep over and over, and note how much longer that took than it should have."""
    while not ended.is_set():
        began = time.perf_counter()
        time.sleep(NAP)
        trial.late[trial.phase].append(time.perf_counter() - began - NAP)


def _talk(ask: Ask, trial: Trial, ended: Event) -> None:
    """Take turns; a conversation that outgrew three windows begins anew."""
    messages, number = chat(20), 20
    while not ended.wait(THINKS):
        try:
            turn, seconds = ask(messages)
        except Exception as error:  # noqa: BLE001  whatever a turn raises is what is counted
            trial.raised.append((trial.phase, type(error).__name__))
            continue
        trial.seconds[trial.phase].append(seconds - turn.report.waited)
        number += 1
        messages = turn.buffer + said(number) if turn.report.projected < 3 * WINDOW else chat(20)
