"""How a session's jobs ended, as the state tells it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.replay.ending import Ending, Watcher
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import SessionView
from tests.host.publisher import work_once
from tests.host.talk import chat
from tests.store.clock import Database

OWNER = Owner.of("acme", "chat")


class Looking(Watcher):
    """A watcher that lets the test know when it looks."""

    looked = threading.Event()

    def look(self, owner: Owner) -> SessionView:
        view = super().look(owner)
        self.looked.set()
        return view


@pytest.fixture
def worker_store(server: EmbeddedServer, database: Database) -> Iterator[SyncStore]:
    """The store at the server's own time, empty."""
    store = SyncStore(server.url, timeout=5.0)
    yield store
    store.close()


def test_refusals_and_failures_are_told_by_reason(worker_store: SyncStore) -> None:
    """Publications refused and summaries failed count; what nobody has to answer for does not."""
    worker_store.run(session_calls.reset(OWNER, fresh_incarnation="i", state_ttl=60))
    for event in (
        "failure:timeout",
        "failure:timeout",
        "neutral:superseded",
        "neutral:lease_lost",
        "enqueued",
    ):
        worker_store.run(tally_calls.tally_add(OWNER, event, ttl=60))
    ending = Watcher(worker_store, Policy(), threading.Event()).ending(OWNER, lambda _: None)
    assert ending == Ending(jobs_enqueued=1, rejected={"timeout": 2, "superseded": 1})


def test_a_job_under_way_is_awaited(server: EmbeddedServer, worker_store: SyncStore) -> None:
    """The version that it publishes after the last turn is told."""
    watcher = Looking(worker_store, Policy(), threading.Event())
    with Pool(server.url, policy=Policy(wait_budget=0)) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
        session.prepare(chat(20))
        endings: list[Ending] = []
        thread = threading.Thread(target=lambda: endings.append(watcher.ending(OWNER, pool.flush)))
        thread.start()
        assert watcher.looked.wait(10)
        assert endings == []
        assert work_once(worker_store) is not None
        thread.join()
    assert endings == [Ending(jobs_enqueued=1, versions_published=1)]


def test_the_wish_to_stop_ends_the_waiting(server: EmbeddedServer, worker_store: SyncStore) -> None:
    """A job that nobody takes is left alone."""
    stop = threading.Event()
    stop.set()
    with Pool(server.url, policy=Policy(wait_budget=0)) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
        session.prepare(chat(20))
        ending = Watcher(worker_store, Policy(), stop).ending(OWNER, pool.flush)
    assert ending == Ending(jobs_enqueued=1)


def test_a_store_that_is_gone_is_no_crash() -> None:
    """A session's end without the state has nothing to tell; asking beforehand raises."""
    store = SyncStore("redis://127.0.0.1:1/0", timeout=0.2)
    watcher = Watcher(store, Policy(), threading.Event())
    assert watcher.ending(OWNER, lambda _: None) == Ending()
    with pytest.raises(StoreUnavailable):
        watcher.check("acme")
