"""All processes of a run: store and broker behind their proxies, the stand-in, workers and hosts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final, Self

from tests.standin import LogNormal, Process, Settings

from chaos.backend import Backend
from chaos.fault import Group
from chaos.host import SHIFT
from chaos.hosting import CONFIG, Config
from chaos.mending import Mending
from chaos.minor import Minor
from chaos.session import Role
from chaos.slot import Launch, Launcher, Slot

SESSIONS: Final = 3
"""Of each host."""

TENANTS: Final = ("acme", "umbrella", "initech")
LATENCY: Final = LogNormal(median=0.3, p99=1.5)
"""Of the model, in seconds: a job takes about as long as three or four turns."""

LEASE: Final = 10.0
GRACE: Final = 5.0
"""Of a worker: a third and a quarter of the defaults, so that more of them run out in a run."""

CONCURRENCY: Final = 6
PROVIDER: Final = "provider"
READY_SECONDS: Final = 120.0
_KEY: Final = "ANTHROPIC_API_KEY"


@dataclass(frozen=True, slots=True)
class Size:
    """How many hosts and workers there are."""

    hosts: int
    workers: int

    @property
    def host_names(self) -> list[str]:
        """The hosts' names."""
        return [f"host{n}" for n in range(self.hosts)]

    @property
    def worker_names(self) -> list[str]:
        """The workers' names."""
        return [f"worker{n}" for n in range(self.workers)]

    @property
    def targets(self) -> dict[Group, list[str]]:
        """What faults may befall."""
        return {
            Group.WORKER: self.worker_names,
            Group.HOST: self.host_names,
            Group.STORE: ["store"],
            Group.BROKER: ["broker"],
            Group.PROVIDER: [PROVIDER],
        }


def roles(host: int) -> tuple[Role, ...]:
    """Return the sessions of a host: buffers and raw histories, two dialects, three tenants, and one session
    in six that asks for the summariser without a model.
    """
    first = host * SESSIONS
    return tuple(
        Role(
            session=f"h{host}s{n - first}",
            tenant=TENANTS[n % len(TENANTS)],
            dialect="openai" if n % 4 == 3 else "anthropic",
            raw=host % 2 == 1,
            summariser="extractive" if n % 6 == 5 else "",
        )
        for n in range(first, first + SESSIONS)
    )


def host_of(session: str) -> str:
    """Return the name of the host that a session is of."""
    return f"host{session[1:].partition('s')[0]}"


class Fleet:
    """`with Fleet(folder, size) as fleet:` starts everything; all of it ends with the block.

    `shifts` are the hosts' clock errors, in seconds, from their next process on. `mending` lifts blocks.
    """

    def __init__(self, folder: Path, size: Size) -> None:
        self.folder = folder
        self.size = size
        self.store = Backend()
        self.broker = Backend()
        self.shifts = dict.fromkeys(size.host_names, 0.0)
        self.mending = Mending(TENANTS)
        minors = list(islice(cycle(Minor), max(size.hosts, size.workers)))
        self.slots: dict[str, Slot] = {}
        for name, minor in zip(size.worker_names, minors, strict=False):
            self.slots[name] = Slot(name, folder, self._worker(name, minor))
        for number, (name, minor) in enumerate(zip(size.host_names, minors, strict=False)):
            self.slots[name] = Slot(name, folder, self._host(number, name, minor))
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self.standin = opened.enter_context(Process())
            self.standin.control.set(Settings(latency=LATENCY))
            opened.enter_context(self.store)
            opened.enter_context(self.broker)
            for slot in self.slots.values():
                opened.callback(slot.close)
            self._await_workers()
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def roles(self) -> list[Role]:
        """All sessions."""
        return [role for number in range(self.size.hosts) for role in roles(number)]

    @property
    def surprises(self) -> list[str]:
        """Every end of a process that nobody brought about."""
        return [told for slot in self.slots.values() for told in slot.surprises]

    def backend(self, group: Group) -> Backend:
        """Return the state store or the broker."""
        return self.store if group is Group.STORE else self.broker

    def journal(self, host: str) -> Path:
        """Return the file of a host's journal."""
        return self.folder / f"{host}.journal.jsonl"

    def tick(self) -> None:
        """Start what is to run and does not, lift blocks that are to be lifted."""
        for slot in self.slots.values():
            slot.tick()
        self.mending.tick(self.store.direct)

    def _await_workers(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not all(self._ready(name).exists() for name in self.size.worker_names):
            for name in self.size.worker_names:
                self.slots[name].tick()
            if self.surprises or time.monotonic() > deadline:
                raise RuntimeError(f"the workers did not start: see the logs in {self.folder}")
            time.sleep(0.05)

    def _ready(self, worker: str) -> Path:
        return self.folder / f"{worker}.ready"

    def _worker(self, name: str, minor: Minor) -> Launcher:
        def launch(_: int) -> Launch:
            command = [sys.executable, "-m", "chaos.worker", minor, "worker"]
            settings = {
                "state": self.store.url,
                "broker": self.broker.url,
                "summariser": "anthropic",
                "base_url": self.standin.url,
                "concurrency": CONCURRENCY,
                "running_lease": LEASE,
                "grace": GRACE,
                "log_format": "json",
            }
            return Launch([*command, "--ready-file", str(self._ready(name))], _environment(settings))

        return launch

    def _host(self, number: int, name: str, minor: Minor) -> Launcher:
        def launch(life: int) -> Launch:
            config = Config(self.journal(name), self.broker.url, self.store.url, roles(number), minor, life)
            command = [sys.executable, "-m", "chaos.host", CONFIG.dump_json(config).decode()]
            return Launch(command, {**_environment({}), SHIFT: str(self.shifts[name])})

        return launch


def _environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment without the caller's settings and keys, with these instead."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("EBBTIDE_", "ANTHROPIC_", "CHAOS_"))}
    given = {f"EBBTIDE_{name.upper()}": str(value) for name, value in settings.items()}
    return {**kept, _KEY: "k-chaos", "no_proxy": "127.0.0.1", "PYTHONUNBUFFERED": "1", **given}
