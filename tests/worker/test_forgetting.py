"""A session is forgotten while a worker is at its job: nothing of it comes back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from ebbtide_core import metrics
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner, memo
from ebbtide_core.store import session_calls
from ebbtide_core.store.forget import Forgotten, forget
from ebbtide_worker.attempt import Attempt
from ebbtide_worker.summarisers.base import Chunk
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.store.clock import Database
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore

CHUNKED = small_policy(chunk_tokens=300)
SHUT = 600.0


def content(database: Database, owner: Owner) -> list[bytes]:
    """Return the keys of a session, and its tenant's memos that hold something."""
    memos = [key for key in database.scan_iter(match=memo(owner.tenant, "*")) if database.strlen(key)]
    return [*database.scan_iter(match=owner.pattern), *memos]


@pytest.mark.parametrize("at", [0, 2, -1], ids=["first call", "third call", "last call"])
async def test_forgotten_in_the_map(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, store: SyncStore, database: Database, at: int
) -> None:
    """What a call under way brings is not kept, and no further call is paid."""
    shop = make_shop(map_per_job=1)
    HostSide(store, Owner("umbrella", "alike"), CHUNKED).enqueue(chat(20))
    await work(shop)
    number = range(1, len(scripted.chunks) + 1)[at]
    scripted.chunks.clear()
    gone: list[Forgotten] = []

    async def forgets(_: Chunk) -> None:
        if len(scripted.chunks) == number:
            gone.append(await asyncio.to_thread(forget, store, host.owner, shut=SHUT))

    scripted.before = forgets
    host.policy = CHUNKED
    host.enqueue(chat(20))
    await work(shop)
    assert len(scripted.chunks) == number
    assert gone[0].left.nothing
    assert gone[0].memos == number - 1
    assert gone[0].running == 1
    assert content(database, host.owner) == []
    assert not forget(store, host.owner, shut=SHUT).anything


async def test_forgotten_just_before_publication(
    make_shop: MakeShop,
    host: HostSide,
    store: SyncStore,
    database: Database,
    recorder: MemoryRecorder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A late publication is fenced, and what the worker then tells makes no key."""
    publication = Attempt._publication

    def forgets(attempt: Attempt, record: object) -> object:
        forget(store, host.owner, shut=SHUT)
        return publication(attempt, record)  # type: ignore[arg-type]

    monkeypatch.setattr(Attempt, "_publication", forgets)
    host.enqueue(chat(20))
    await work(make_shop())
    assert recorder.total(metrics.JOBS, "neutral", "fenced") == 1
    assert content(database, host.owner) == []


async def test_begun_anew_while_the_old_job_runs(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, store: SyncStore, database: Database
) -> None:
    """A host that goes on gets a new life, into which the old job publishes nothing."""

    async def begins_anew(_: Chunk) -> None:
        if len(scripted.chunks) == 1:
            await asyncio.to_thread(forget, store, host.owner, shut=SHUT)
            await asyncio.to_thread(
                store.run,
                session_calls.reset(host.owner, fresh_incarnation="life-2", state_ttl=60.0),
            )

    scripted.before = begins_anew
    host.policy = CHUNKED
    host.enqueue(chat(20))
    await work(make_shop(map_per_job=1))
    keys = {host.owner.kind(key.decode()) for key in database.scan_iter(match=host.owner.pattern)}
    assert keys <= {"state", "tally"}
    view = host.turn()
    assert (view.incarnation, view.newest.number, view.headers) == ("life-2", 0, ())


async def test_another_session_with_the_same_messages_pays_again(
    make_shop: MakeShop, host: HostSide, scripted: Scripted, store: SyncStore
) -> None:
    """That is the price of a memo that two sessions share; its job is not disturbed."""
    host.policy = CHUNKED
    host.enqueue(chat(20))
    shop = make_shop()
    await work(shop)
    paid = len(scripted.chunks)
    assert forget(store, host.owner, shut=SHUT).memos == paid
    second = HostSide(store, Owner("acme", "second"), CHUNKED)
    second.enqueue(chat(20))
    await work(shop)
    assert len(scripted.chunks) == 2 * paid
    assert second.record(1).version == 1


async def test_sessions_note_the_memos_that_they_find_too(
    make_shop: MakeShop, host: HostSide, store: SyncStore
) -> None:
    """Not only those that they made: they hold their messages as well."""
    host.policy = CHUNKED
    host.enqueue(chat(20))
    await work(make_shop())
    second = HostSide(store, Owner("acme", "second"), CHUNKED)
    second.enqueue(chat(20))
    await work(make_shop())
    made = store.run(session_calls.memo_names(host.owner))
    found = store.run(session_calls.memo_names(second.owner))
    assert made
    assert sorted(found) == sorted(made)
