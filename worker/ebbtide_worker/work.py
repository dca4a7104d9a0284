"""The drain: one permit lets a worker take jobs for as long as there are any that it may take."""

from __future__ import annotations

import asyncio

from ebbtide_core.errors import EbbtideError, StoreUnavailable
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.results import TakeResult
from ebbtide_core.store.script import Call
from ebbtide_worker.attempt import Attempt
from ebbtide_worker.ending import log, settle
from ebbtide_worker.handing import pass_on
from ebbtide_worker.shop import Shop
from ebbtide_worker.verdict import TOO_OLD


async def work(shop: Shop) -> int:
    """Take jobs until none is ready, all tenants are at their cap, or the worker stops. Returns how many ran.

    A store that is away ends it: maintenance sends new permits once it is back. A worker that stops passes
    its permit on.
    """
    done = 0
    try:
        while not shop.stopping.is_set():
            taken = await shop.store.run(_take(shop))
            if taken.job is None:
                await _settle_dropped(shop, taken)
                break
            await asyncio.gather(_attempt(shop, taken), _settle_dropped(shop, taken))
            done += 1
    except EbbtideError as error:
        log.warning("a worker stopped taking jobs until the next permit: %s", error)
    if shop.stopping.is_set():
        await pass_on(shop)
    return done


async def _settle_dropped(shop: Shop, taken: TakeResult) -> None:
    """Settle the jobs that waited too long. One outage is borne for all of them; of those that can't be told
    then the claims run out by themselves.
    """
    try:
        for job in taken.dropped:
            await settle(shop, job, TOO_OLD)
    except StoreUnavailable as away:
        log.warning("jobs that waited too long were not settled: %s", away)


def _take(shop: Shop) -> Call[TakeResult]:
    config = shop.config
    return fleet_calls.take(
        shop.worker_id,
        lease=config.running_lease,
        max_queue_age=config.max_queue_age,
        cap=config.tenant_cap,
        ttl=config.state_ttl,
    )


async def _attempt(shop: Shop, taken: TakeResult) -> None:
    assert taken.job is not None  # noqa: S101  the caller looked
    shop.running += 1
    try:
        await Attempt(shop, taken.job, taken.waited).run()
    finally:
        shop.running -= 1
