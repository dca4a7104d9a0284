"""A worker process and a host's pool on given servers, and what they have to do there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kombu.exceptions import OperationalError

from ebbtide import Policy, Pool, Session
from ebbtide_core.decide import Reason
from ebbtide_core.permits import PermitSender
from tests.host.talk import chat
from tests.processes.workers import Worker, await_ready, start
from tests.waiting import wait_until

TENANT: Final = "acme"
POLICY: Final = Policy(keep_recent_tokens=500, min_new_tokens=100, io_budget=2.0, wait_budget=0.0)
SECONDS: Final = 60.0


@dataclass
class Fleet:
    """One worker and one host. `faults` are those that turns reported so far."""

    worker: Worker
    pool: Pool
    faults: list[str]

    def session(self, session_id: str) -> Session:
        """Return a session whose conversation needs a compaction."""
        return self.pool.session(tenant=TENANT, session_id=session_id, model="gpt-test", context_window=4_000)

    def swapped(self, session: Session) -> bool:
        """Take a turn; say whether it swapped a version in."""
        turn = session.prepare(chat(24), max_tokens=200)
        self.faults += turn.report.faults
        return turn.swap is not None

    def served(self, session: Session) -> bool:
        """Take a turn; say whether it had the store."""
        return session.prepare(chat(24), max_tokens=200).report.reason is not Reason.STORE_UNAVAILABLE

    def compacts(self, session_id: str) -> None:
        """A new session's turn enqueues, the worker publishes, a later turn swaps the version in."""
        session = self.session(session_id)
        wait_until(lambda: self.swapped(session), f"{session_id} has its version", SECONDS)
        assert self.worker.alive, self.worker.said


@contextmanager
def fleet(
    folder: Path, *, host: tuple[str, str], worker: tuple[str, str], **settings: Any
) -> Iterator[Fleet]:
    """Run a worker and a pool, each with its broker's and state store's URL, and end them."""
    broker, state = worker
    given = {"summariser": "extractive", "tick": 1.0, "grace": 2.0, "log_format": "json", **settings}
    started = start(folder, "one", broker=broker, state=state, **given)
    try:
        await_ready(started)
        with Pool(*host, policy=POLICY) as pool:
            yield Fleet(started, pool, [])
    finally:
        started.kill()


def send_one(sender: PermitSender) -> None:
    """Have one permit sent; a server that has just begun may not be quick enough for the first."""

    def sent() -> bool:
        try:
            sender.send()
        except OperationalError:
            return False
        return True

    wait_until(sent, "a permit is sent", SECONDS)


def until_met(fleet: Fleet, session: Session, met: Callable[[list[str]], bool], what: str) -> None:
    """Take turns, none of which raises, until their faults are as awaited."""

    def reported() -> bool:
        fleet.swapped(session)
        return met(fleet.faults)

    wait_until(reported, what, SECONDS)
