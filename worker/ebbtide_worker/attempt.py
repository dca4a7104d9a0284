"""One attempt at one job, from the guard's answer to publication or settlement."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import monotonic
from typing import Any, Final

from ebbtide_core import metrics
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.codec import seal
from ebbtide_core.store.results import PublishResult
from ebbtide_core.store.script import Call
from ebbtide_worker.bill import Bill
from ebbtide_worker.cancelling import cancelled
from ebbtide_worker.ending import block, described, log, settle, tell
from ebbtide_worker.handing import hand_back
from ebbtide_worker.lease import Lease
from ebbtide_worker.making import Making, Stage
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import UNREAD, SummariserFault
from ebbtide_worker.verdict import (
    DEADLINE,
    HANDED_BACK,
    STOPPED,
    STORE_UNAVAILABLE,
    TOO_OLD,
    Stop,
    Verdict,
    of_error,
    of_publication,
)

LAST_WORDS: Final = 2.0
"""Seconds beyond its deadline, by which all its calls are over, for an attempt to say how they ended."""


class Attempt:
    """One attempt. `waited` is how many seconds the job was ready before it was taken."""

    def __init__(self, shop: Shop, job: Job, waited: float) -> None:
        self._shop = shop
        self._job = job
        self._left = min(shop.config.job_deadline, job.remaining_ms / 1000 - waited)
        self._begun = monotonic()
        self._bill = Bill(lambda: (self._making.usage, self._making.dollars))
        self._lease = Lease(shop.store, job, shop.config, self._bill)
        self._making = Making(shop, job, self._lease, self._begun + self._left)
        self._more: dict[str, object] = {}
        shop.recorder.observe(metrics.QUEUE_SECONDS, waited, urgency=job.urgency.value)

    async def run(self) -> Verdict:
        """Return how the attempt ended. Whatever goes wrong ends here."""
        try:
            verdict = await self._verdict()
        except Exception as error:  # noqa: BLE001  a fault of any kind ends one attempt, not the worker
            verdict = of_error(error)
            self._more["detail"] = described(error)
            await self._forget(verdict, error)
            await self._block(error)
        return await self._leave(verdict)

    async def _verdict(self) -> Verdict:
        if self._left <= 0:
            return TOO_OLD
        await self._lease.begin()
        record = await self._supervised(self._making.record())
        with self._making.staged(Stage.PUBLISH):
            result = await self._shop.patient.run(self._publication(record))
        self._more |= {"version": result.version, "summary_tokens": record.summary_tokens}
        return of_publication(result.status)

    async def _supervised(self, making: Awaitable[SummaryRecord]) -> SummaryRecord:
        """Return the record, unless the lease is lost, time is up or the worker stops: then all calls are
        cancelled.
        """
        work = asyncio.ensure_future(making)
        kept = asyncio.create_task(self._lease.keep())
        expired = asyncio.create_task(self._shop.expired.wait())
        tasks: tuple[asyncio.Future[Any], ...] = (work, kept, expired)
        try:
            await asyncio.wait(tasks, timeout=self._left + LAST_WORDS, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if kept.done():
                raise Stop(kept.result())
            raise Stop(STOPPED if expired.done() else DEADLINE)
        finally:
            await cancelled(*tasks)

    def _publication(self, record: SummaryRecord) -> Call[PublishResult]:
        header = RecordHeader(
            version=record.version,
            generation=record.generation,
            position=record.position,
            body=record.body,
        )
        return session_calls.publish(
            self._job.owner,
            record_bytes=seal(self._shop.config.codec, self._job.tenant, record.to_json()),
            header=header,
            after=self._job.after,
            incarnation=record.incarnation,
            kept=self._shop.config.records_kept,
            state_ttl=self._shop.config.state_ttl,
        )

    async def _forget(self, verdict: Verdict, error: Exception) -> None:
        """Delete the memos used when what was made of them failed: else every retry would fail alike."""
        made = self._making.stage in (Stage.REDUCE, Stage.VALIDATE)
        unread = isinstance(error, SummariserFault) and error.kind in UNREAD
        if not made or verdict.outcome is not Outcome.FAILURE or unread or isinstance(error, Stop):
            return
        try:
            await self._making.forget()
        except StoreUnavailable as away:
            log.warning("memos of a failed summary stay until they run out: %s", away)

    async def _block(self, error: Exception) -> None:
        """Have hosts not wait for a tenant whose account can't be used now."""
        if isinstance(error, SummariserFault):
            try:
                await block(self._shop, self._job, error)
            except StoreUnavailable as away:
                log.warning("hosts were not told of a tenant's block: %s", away)

    async def _leave(self, verdict: Verdict) -> Verdict:
        """Settle unless it was published or handed back, take the attempt out of the index, and return how it
        ended; leases end what can't be told now.
        """
        more = {**self._making.figures, "seconds": round(monotonic() - self._begun, 3), **self._more}
        try:
            if verdict == STOPPED and await self._handed_back():
                verdict = HANDED_BACK
            if verdict.outcome is Outcome.SUCCESS or verdict in (STORE_UNAVAILABLE, HANDED_BACK):
                tell(self._shop, self._job, verdict, **more)
            else:
                await settle(self._shop, self._job, verdict, **more)
            if verdict not in (STORE_UNAVAILABLE, HANDED_BACK):
                await self._shop.patient.run(fleet_calls.done(self._job, self._bill.untold))
        except StoreUnavailable as away:
            log.warning("an attempt's end was not told, its leases will run out: %s", away)
        return verdict

    async def _handed_back(self) -> bool:
        if self._bill.untold != fleet_calls.NOTHING:
            await self._lease.renew()
        return await hand_back(self._shop, self._job)
