"""How long turns at the hard watermark wait for a record."""

from __future__ import annotations

import asyncio

from ebbtide import AsyncPool, Policy
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.breaker import Outcome
from ebbtide_core.decide import Action, Reason
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import WINDOW, MakeHost
from tests.host.publisher import settle, take
from tests.host.talk import chat, said

PATIENT = Policy(wait_budget=0.3, io_budget=10.0)


def give_up(store: SyncStore) -> None:
    """End the job that is queued neutral, as a worker does whose provider is away."""
    job = take(store)
    assert job is not None
    settle(store, job, Outcome.NEUTRAL)


def test_the_wait_budget_is_spent_once_a_claim(make_host: MakeHost, worker_store: SyncStore) -> None:
    """While a record is late, only the first turn waits for it; the next claim is waited for anew."""
    host, messages = make_host(policy=PATIENT), chat(27)
    first = host.prepare(messages)
    assert first.report.waited >= 0.3
    for i in range(27, 30):
        messages = messages + said(i)
        turn = host.prepare(messages)
        assert (turn.report.action, turn.report.reason) == (Action.DEGRADE, Reason.NO_RECORD_IN_TIME)
        assert turn.report.waited == 0
    give_up(worker_store)
    assert host.prepare(messages).report.waited >= 0.3
    assert host.prepare(messages).report.waited == 0


async def test_a_host_that_ends_its_turns_early_waits_no_longer_than_the_budget(
    server: EmbeddedServer, worker_store: SyncStore
) -> None:
    """What a cancelled turn waited counts; else a host of less patience than the budget would never go on."""
    async with AsyncPool(server.url, policy=PATIENT.model_copy(update={"wait_budget": 1.5})) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=WINDOW)
        for _ in range(40):
            try:
                turn = await asyncio.wait_for(session.prepare(chat(27)), 0.5)
            except TimeoutError:
                continue
            break
    assert turn.report.reason is Reason.NO_RECORD_IN_TIME
