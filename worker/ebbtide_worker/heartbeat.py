"""The signs of life that a worker looks for at each tick: its loop turns, store and broker answer, permits go
round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ebbtide_core import metrics
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.store import fleet_calls
from ebbtide_worker.ending import described, log
from ebbtide_worker.shop import Shop


async def keep_beating(shop: Shop) -> None:
    """Look for all signs of life at each tick until cancelled. None of them waits for another."""
    signs = (_turn, ask_store, ask_broker)
    await asyncio.gather(*(_each_tick(shop, sign) for sign in signs))


async def _each_tick(shop: Shop, sign: Callable[[Shop], Awaitable[None]]) -> None:
    while True:
        await sign(shop)
        await asyncio.sleep(shop.config.tick)


async def _turn(shop: Shop) -> None:
    shop.health.turned()


async def ask_store(shop: Shop) -> None:
    """Note that the state store answers, if it does."""
    try:
        await shop.store.run(fleet_calls.depth())
    except StoreUnavailable as away:
        log.debug("%s", away)
    else:
        shop.health.store_answered()


async def ask_broker(shop: Shop) -> None:
    """Note that the broker answers, if it does, and send permits to it when none has come for long.

    A broker that is away is no reason to doubt the consumer, and permits that lie there need no more of them.
    """
    try:
        lying = await asyncio.to_thread(shop.permits.waiting)
        shop.health.broker_answered()
        owed = shop.health.owed() if shop.free_slots and not shop.stopping.is_set() else None
        if owed and not lying:
            await asyncio.to_thread(shop.permits.send, owed)
            shop.recorder.count(metrics.PERMITS, owed, what="sent_as_heartbeat")
    except Exception as error:  # noqa: BLE001  a broker client's errors have no common base
        log.debug("the broker did not answer: %s", described(error))
        owed = None
    if owed is None:
        shop.health.excused()
