"""A worker that is done before the waiting host looks."""

from __future__ import annotations

from typing import Any

from ebbtide import Action, Policy, Pool, Reason
from ebbtide.session import Session
from ebbtide.turns.effects import Effect, Hand, Pause
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.contract.job import Urgency
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import WINDOW
from tests.host.publisher import take, work_once, working
from tests.host.talk import chat


class OvertakenSession(Session):
    """A session whose order is claimed, enqueued and published before `prepare` goes on."""

    worker_store: SyncStore

    def _perform(self, effect: Effect) -> Any:
        reply = super()._perform(effect)
        if isinstance(effect, Hand):
            assert self._pool.courier.flush(10)
            assert work_once(self.worker_store) is not None
        return reply


def test_a_record_published_before_the_first_look_is_swapped(
    server: EmbeddedServer, worker_store: SyncStore
) -> None:
    """The state read before the order says nothing of it: the host looks again before it gives up."""
    with Pool(server.url, policy=Policy(wait_budget=10.0, io_budget=10.0)) as pool:
        plain = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=WINDOW)
        session = OvertakenSession(plain._pool, plain._store, plain._memory)
        session.worker_store = worker_store
        turn = session.prepare(chat(27))
    assert turn.report.action is Action.SWAP
    assert not turn.report.degraded


class BusySession(Session):
    """A session whose last order is under way until its turn first waits."""

    ended = False

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Pause) and not self.ended:
            self.ended = True
            self._memory.mailbox.end(None)
        return super()._perform(effect)


def test_a_turn_that_waits_asks_as_soon_as_the_last_order_is_done(
    server: EmbeddedServer, worker_store: SyncStore
) -> None:
    """What the last turn asked for is answered already; giving up then would be to have asked for nothing."""
    with Pool(server.url, policy=Policy(wait_budget=20.0, io_budget=10.0)) as pool, working(worker_store):
        plain = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=WINDOW)
        session = BusySession(plain._pool, plain._store, plain._memory)
        assert session._memory.mailbox.begin()
        turn = session.prepare(chat(27))
    assert turn.report.action is Action.SWAP


def grown(rounds: int) -> list[Any]:
    """A chat that grew by one huge answer, which stays in the tail: no summary makes room for it."""
    return [
        *chat(rounds),
        {"role": "assistant", "content": "word " * 2_600},
        {"role": "user", "content": "on"},
    ]


def test_a_turn_swaps_one_record_and_asks_for_the_next(
    server: EmbeddedServer, worker_store: SyncStore
) -> None:
    """When the record that is ready leaves the request at hard, a job for what is still too much is asked for
    as urgent; when it does not end in time the view is degraded and declared, and the turn tells of the one
    swap that it made."""
    with Pool(server.url, policy=Policy(wait_budget=0.1, io_budget=10.0)) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=WINDOW)
        first = session.prepare(chat(20))
        assert pool.flush()
        assert work_once(worker_store) is not None
        turn = session.prepare(first.buffer + grown(20)[len(first.buffer) :])
        assert pool.flush()
        assert (turn.report.action, turn.report.reason) == (Action.DEGRADE, Reason.NOT_ENOUGH)
        assert turn.swap is not None
        assert turn.swap.version == 1
        assert turn.report.sent <= turn.report.hard
        job = take(worker_store)
    assert job is not None
    assert (job.urgency, job.after.number) == (Urgency.HI, 1)
