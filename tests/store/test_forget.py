"""Forgetting a session: everything of it goes, nothing of another's, and it can be seen that it has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbtide_core import names
from ebbtide_core.breaker import Outcome
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, fleet_calls, session_calls, tally_calls
from ebbtide_core.store.forget import BATCH, Left, forget
from ebbtide_core.store.results import GuardStatus, PublishStatus
from tests.store.fleet import Fleet, job
from tests.store.session import Driver

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from ebbtide_core.store.script import Call
    from tests.store.clock import Clock, Database

R = TypeVar("R")

OWNER = Owner("acme*", "chat-[4]2")
SHUT = 60.0
NOTHING = Left(0, 0, 0)


def live(store: SyncStore, owner: Owner) -> Driver:
    """Give a session one of everything, and return what drives it."""
    driver, fleet = Driver(store, owner), Fleet(store)
    driver.turn()
    driver.publish(5)
    driver.claim(10)
    mine = job(owner.session_id, owner.tenant)
    fleet.put(mine)
    fleet.take()
    fleet.put(mine.model_copy(update={"epoch": 2}))
    store.run(blob_calls.put({owner.segment("d1"): b"x", owner.segment("d2"): b"y"}, ttl=600))
    store.run(blob_calls.put({owner.manifest("m"): b"z"}, ttl=600))
    store.run(tally_calls.tally_add(owner, "enqueued", ttl=600))
    store.run(session_calls.review_add(owner, "{}", kept=3, ttl=600))
    noted = session_calls.memos_used(owner, ["c1", "c2"], incarnation="life-1", generation=0, ttl=600)
    assert store.run(noted)
    store.run(blob_calls.memo_put(owner.tenant, "c1", b"partial", ttl=600))
    return driver


def test_all_of_a_session_goes_and_is_told(store: SyncStore, database: Database) -> None:
    """By kind; what stays is another session's, and a place holder without content for each memo."""
    live(store, OWNER)
    store.run(blob_calls.memo_put(OWNER.tenant, "other", b"partial", ttl=600))
    gone = forget(store, OWNER, shut=SHUT)
    kinds = {"state": 1, "rec": 1, "seg": 2, "man": 1, "tally": 1, "review": 1, "memos": 1}
    assert (gone.keys, gone.memos, gone.ready, gone.running) == (kinds, 1, 1, 1)
    assert gone.left == NOTHING
    assert gone.left.nothing
    assert not [key for key in database.scan_iter() if b"chat" in key]
    assert store.run(blob_calls.memo_get(OWNER.tenant, ["c1", "c2", "other"])) == (None, None, b"partial")
    assert 0 < database.pttl(names.memo(OWNER.tenant, "c1")) <= SHUT * 1000


def test_what_is_not_there_is_forgotten_without_a_trace(store: SyncStore, database: Database) -> None:
    """A second time, nothing is found."""
    live(store, OWNER)
    assert forget(store, OWNER, shut=SHUT).anything
    again = forget(store, OWNER, shut=SHUT)
    assert not again.anything
    assert again.keys == {}
    assert again.left == NOTHING


@settings(max_examples=15)
@given(names=st.lists(st.text("a*?[]\\{}:/%é", min_size=1, max_size=3), min_size=4, max_size=4))
def test_other_sessions_keep_all(
    store: SyncStore, database: Database, clock: Clock, names: list[str]
) -> None:
    """Whatever the names hold: one session is forgotten, and every key of the other is as it was."""
    database.flushdb()
    clock.write()
    one, other = Owner(*names[:2]), Owner(*names[2:])
    if one.tenant == other.tenant:
        other = Owner(other.tenant + "!", other.session_id)
    live(store, one)
    live(store, other)
    before = {key: database.dump(key) for key in database.scan_iter(match=other.pattern)}
    mentioned = store.run(fleet_calls.mentions(other))
    assert forget(store, one, shut=SHUT).left == NOTHING
    assert {key: database.dump(key) for key in database.scan_iter(match=other.pattern)} == before
    assert store.run(fleet_calls.mentions(other)) == mentioned
    assert store.run(blob_calls.memos_full(other.tenant, ["c1"])) == 1


def test_many_keys_go_in_batches(store: SyncStore, database: Database) -> None:
    """However many segments there are."""
    live(store, OWNER)
    pipe = database.pipeline()
    for n in range(3 * BATCH):
        pipe.set(OWNER.segment(f"s{n}"), b"x", px=60_000)
    pipe.execute()
    gone = forget(store, OWNER, shut=SHUT)
    assert gone.keys["seg"] == 3 * BATCH + 2
    assert gone.left == NOTHING


def test_a_worker_that_goes_on_leaves_nothing_behind(store: SyncStore, database: Database) -> None:
    """Whatever it still does with the job is refused: the state that it speaks of is gone."""
    driver = live(store, OWNER)
    forget(store, OWNER, shut=SHUT)
    assert driver.guard() is GuardStatus.FENCED
    assert driver.publish(10).status is PublishStatus.FENCED
    assert not driver.settle(Outcome.NEUTRAL)
    assert not driver.queued()
    assert not driver.withdraw(1)
    store.run(tally_calls.tally_add(OWNER, "neutral:fenced", ttl=600))
    noted = session_calls.memos_used(OWNER, ["c3"], incarnation="life-1", generation=0, ttl=600)
    assert not store.run(noted)
    assert not store.run(blob_calls.memo_put(OWNER.tenant, "c1", b"late", ttl=600))
    assert not store.run(blob_calls.memo_put(OWNER.tenant, "c2", b"late", ttl=600))
    assert store.run(blob_calls.memo_drop(OWNER.tenant, ["c1", "c2"])) == 0
    assert not store.run(blob_calls.memo_put(OWNER.tenant, "c1", b"later", ttl=600))
    assert not forget(store, OWNER, shut=SHUT).anything


def test_a_new_life_is_not_the_old_workers(store: SyncStore) -> None:
    """A host that begins the session anew is not mistaken for the one that was forgotten."""
    driver = live(store, OWNER)
    forget(store, OWNER, shut=SHUT)
    driver.turn(fresh_incarnation="life-2")
    assert driver.guard() is GuardStatus.FENCED
    assert driver.publish(10).status is PublishStatus.FENCED
    noted = session_calls.memos_used(OWNER, ["c3"], incarnation="life-1", generation=0, ttl=600)
    assert not store.run(noted)


def test_one_that_was_cut_short_is_finished_by_the_next(
    store: SyncStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memos can be found for as long as they are not emptied."""
    live(store, OWNER)
    with monkeypatch.context() as cut:
        cut.setattr(fleet_calls, "forget_member", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            forget(store, OWNER, shut=SHUT)
    gone = forget(store, OWNER, shut=SHUT)
    assert gone.memos == 1
    assert gone.left == NOTHING


def _interrupted(_: Owner) -> None:
    raise KeyboardInterrupt


class Restless:
    """A store on which a host makes the session's state anew whenever the index has forgotten it."""

    def __init__(self, store: SyncStore) -> None:
        self.scan = store.scan
        self._store = store

    def run(self, call: Call[R]) -> R:
        """Run a call."""
        result = self._store.run(call)
        if call.script == "full":
            live(self._store, OWNER)
        return result


def test_a_host_that_goes_on_is_seen(store: SyncStore, database: Database) -> None:
    """What comes back before the look afterwards has ended is told."""
    live(store, OWNER)
    left = forget(cast("SyncStore", Restless(store)), OWNER, shut=SHUT).left
    assert left.mentions == 7
    assert not left.nothing
    assert forget(store, OWNER, shut=SHUT).left.nothing
    assert not Left(1, 0, 0).nothing
    assert not Left(0, 1, 0).nothing


def test_memos_that_have_run_out_are_not_remembered(store: SyncStore, clock: Clock) -> None:
    """A session that lives for weeks names those only that can still be there."""
    driver = Driver(store, OWNER)
    driver.turn()

    def note(name: str) -> None:
        call = session_calls.memos_used(OWNER, [name], incarnation="life-1", generation=0, ttl=60)
        assert store.run(call)

    note("old")
    clock.advance(30)
    note("new")
    assert store.run(session_calls.memo_names(OWNER)) == ("old", "new")
    clock.advance(31)
    note("newer")
    assert store.run(session_calls.memo_names(OWNER)) == ("new", "newer")
