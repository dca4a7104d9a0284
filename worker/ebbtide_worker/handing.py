"""What a worker that stops leaves to the others: the jobs that it was at, the permits that it received."""

from __future__ import annotations

import asyncio

from ebbtide_core import metrics
from ebbtide_core.contract.job import Job
from ebbtide_core.policy import queue_lease
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_worker.ending import described, log
from ebbtide_worker.shop import Shop


async def hand_back(shop: Shop, job: Job) -> bool:
    """Put a running attempt's job back to where it stood; False when the attempt had lost its lease.

    Nothing of it counts against job or session, and what it has memoised serves the next attempt. Raises
    StoreUnavailable; as nobody knows then whether the job was put back, it is not tried again: at worst the
    leases run out.
    """
    if not await shop.store.run(fleet_calls.hand_back(job, shop.worker_id)):
        return False
    config = shop.config
    waits = queue_lease(config.max_queue_age, config.tick)
    await shop.patient.run(
        session_calls.requeued(
            job.owner, job_id=job.job_id, epoch=job.epoch, attempt=job.attempt, lease=waits
        )
    )
    return True


async def pass_on(shop: Shop) -> None:
    """Send a permit in place of one that this worker can't use any more; if it can't be sent, maintenance
    does.
    """
    try:
        await asyncio.to_thread(shop.permits.send)
    except Exception as error:  # noqa: BLE001  a broker client's errors have no common base
        log.warning("a stopping worker's permit was not passed on: %s", described(error))
    else:
        shop.recorder.count(metrics.PERMITS, what="passed_on")
