"""An event loop that other work holds up: the store is not taken for one that is away."""

from __future__ import annotations

import asyncio
import math
import time

import pytest

from ebbtide import Action, AsyncPool, Policy, Reason
from ebbtide.lateness import EVERY, Lateness
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.store.client import SyncStore
from tests.host.talk import chat

STALL = 0.3
"""Seconds: longer than any call of a turn may take."""


def stall() -> None:
    """Keep the loop busy."""
    until = time.monotonic() + STALL
    while time.monotonic() < until:
        pass


@pytest.mark.parametrize("again", [True, False])
async def test_a_call_that_failed_meanwhile_is_made_once_more(
    server: EmbeddedServer, worker_store: SyncStore, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """The turn has its state all the same; it would not without the second try."""
    if not again:
        monkeypatch.setattr("ebbtide.aio.HELD_UP", math.inf)
    async with AsyncPool(server.url, policy=Policy(wait_budget=0.0)) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=4_000)
        turn = asyncio.create_task(session.prepare(chat(20)))
        asyncio.get_running_loop().call_soon(stall)
        report = (await turn).report
    if again:
        assert (report.action, report.faults) == (Action.ENQUEUE, ())
    else:
        assert report.reason is Reason.STORE_UNAVAILABLE


async def test_lateness_is_that_of_the_longest_hold_up() -> None:
    """Seen even when the block is left right after it."""
    with Lateness() as late:
        await asyncio.sleep(0)
        stall()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert late.worst >= STALL - EVERY
