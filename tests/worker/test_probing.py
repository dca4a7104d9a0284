"""Jobs of many chunks on an account whose breaker waits for a probe."""

from __future__ import annotations

import pytest

from ebbtide_core.contract.tenant import Hop
from ebbtide_core.limiter import FAILURES_TO_OPEN, Told
from ebbtide_core.store import account_calls
from ebbtide_core.store.client import AsyncStore
from ebbtide_worker.routes import account_id
from ebbtide_worker.work import work
from tests.host.talk import chat
from tests.store.clock import Clock
from tests.worker.conftest import MakeShop
from tests.worker.hostside import HostSide, small_policy
from tests.worker.scripted import Scripted


@pytest.mark.parametrize("ask_again", [0.0, 60.0])
async def test_the_probe_of_a_job_is_made_though_its_other_calls_are_refused(
    make_shop: MakeShop,
    host: HostSide,
    scripted: Scripted,
    async_store: AsyncStore,
    clock: Clock,
    ask_again: float,
) -> None:
    """Whether or not the store is asked about the lease in between, a call is made and opens the account; the
    next job pays for the rest alone.
    """
    shop = make_shop(ask_again=ask_again)
    account = account_id(Hop(summariser="scripted"), shop.config, host.owner.tenant)
    for _ in range(FAILURES_TO_OPEN):
        await async_store.run(account_calls.told(account, Told.TROUBLE))
    clock.advance(5)
    host.policy = small_policy(chunk_tokens=300, summary_max_tokens=1_000)
    host.enqueue(chat(20))

    await work(shop)

    assert scripted.chunks
    assert (await async_store.run(account_calls.look(account))).block is None
    host.enqueue(chat(20))
    await work(shop)
    assert host.record(1).summariser.name == "scripted"
    assert len(set(scripted.labels)) == len(scripted.labels)
