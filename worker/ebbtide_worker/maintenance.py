"""The maintenance tick: jobs of dead workers come back, jobs that waited too long end, lost permits are
replaced.
"""

from __future__ import annotations

import asyncio
from typing import Final

from ebbtide_core import metrics
from ebbtide_core.contract.job import Job
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.results import SweepResult
from ebbtide_worker.ending import described, log, settle
from ebbtide_worker.shop import Shop
from ebbtide_worker.verdict import LOST_TOO_OFTEN, TOO_OLD

_LOCK_SHARE: Final = 0.9
"""The lock is gone before the next tick, so that a lone worker sweeps at every one."""


async def keep_ticking(shop: Shop) -> None:
    """Tick until cancelled; a fault is logged and ends one tick."""
    while True:
        await asyncio.sleep(shop.config.tick)
        try:
            await tick(shop)
        except Exception as error:  # noqa: BLE001  a broker client's errors have no common base
            log.warning("a maintenance tick failed: %s", described(error))


async def tick(shop: Shop) -> None:
    """Do the fleet's maintenance, unless another worker has done it since the last tick.

    Raises StoreUnavailable, and the broker client's own errors.
    """
    config = shop.config
    if not await shop.store.run(fleet_calls.tick_lock(shop.worker_id, _LOCK_SHARE * config.tick)):
        return
    swept = await shop.store.run(
        fleet_calls.sweep(
            tick=config.tick,
            max_attempts=config.max_attempts,
            max_queue_age=config.max_queue_age,
            ttl=config.state_ttl,
        )
    )
    await _settle(shop, swept)
    await _permit(shop, swept)


async def _settle(shop: Shop, swept: SweepResult) -> None:
    for what, jobs in (("put_back", swept.put_back), ("lost", swept.lost), ("too_old", swept.too_old)):
        if jobs:
            shop.recorder.count(metrics.SWEEPS, len(jobs), what=what)
    for job in swept.lost:
        _tell_of_letter(shop, job)
        await settle(shop, job, LOST_TOO_OFTEN)
    for job in swept.too_old:
        await settle(shop, job, TOO_OLD)


def _tell_of_letter(shop: Shop, job: Job) -> None:
    shop.recorder.count(metrics.DEAD_LETTERS, reason=LOST_TOO_OFTEN.reason)
    words = {"tenant": job.tenant, "session": job.session_id, "job": job.job_id, "attempt": job.attempt}
    log.error(
        "a job became a dead letter: the workers that had it died; see `ebbtide jobs list --dead`",
        extra={"ebbtide": {**words, "reason": LOST_TOO_OFTEN.reason}},
    )


async def _permit(shop: Shop, swept: SweepResult) -> None:
    """Send a permit for each job that waits, as many as this process has slots free, and at least one.

    Permits that are under way are not counted: they may be lost. The one is for an idle worker elsewhere; it
    drains, so more are not needed.
    """
    ready = swept.waiting + len(swept.put_back)
    number = min(ready, max(1, shop.free_slots))
    if number:
        await asyncio.to_thread(shop.permits.send, number)
        shop.recorder.count(metrics.PERMITS, number, what="sent_by_tick")
