"""Telling of an attempt's end: to the session, to metrics, to the log."""

from __future__ import annotations

import logging
from traceback import extract_tb
from typing import Any, Final

from ebbtide_core import metrics
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.errors import EbbtideError
from ebbtide_core.store import session_calls, tally_calls, tenant_calls
from ebbtide_worker.shop import Shop
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault
from ebbtide_worker.verdict import Verdict

log = logging.getLogger("ebbtide.worker")


_BLOCKS: Final = {
    FaultKind.AUTH: BlockReason.AUTH,
    FaultKind.FORBIDDEN: BlockReason.AUTH,
    FaultKind.SPEND_LIMIT: BlockReason.SPEND_LIMIT,
    FaultKind.NOT_FOUND: BlockReason.NOT_FOUND,
}
_BLOCK_SECONDS: Final = 60.0
_LONGEST_BLOCK: Final = 600.0
"""How long a block stands for which no time was told, and at most: then the provider is asked again."""


async def block(shop: Shop, job: Job, fault: SummariserFault) -> None:
    """Note for hosts why the job's tenant gets no summary now, if the fault that ended the job says so: its
    account can't be used, or its provider is down. A single call that failed says nothing of the kind. Raises
    StoreUnavailable.
    """
    reason = fault.block or _BLOCKS.get(fault.kind)
    if reason is None:
        return
    seconds = min(_BLOCK_SECONDS if fault.retry_after is None else fault.retry_after, _LONGEST_BLOCK)
    await shop.patient.run(tenant_calls.block_put(job.tenant, reason, seconds))
    told = {"ebbtide": {**_names(job), "block": reason.value, "seconds": seconds}}
    log.warning("tenant blocked: %s", reason.value, extra=told)


async def settle(shop: Shop, job: Job, verdict: Verdict, **more: object) -> None:
    """Settle an attempt with the session, whose breaker opens as its tenant's policy says, and tell of it.

    Raises StoreUnavailable.
    """
    failures = (await shop.tenants.of(job.tenant)).breaker_failures or shop.config.breaker_failures
    ttl = shop.config.state_ttl
    settlement = session_calls.settle_attempt(job, verdict.outcome, breaker_failures=failures, state_ttl=ttl)
    await shop.patient.run(settlement)
    event = f"{verdict.outcome.value}:{verdict.reason}"
    await shop.patient.run(tally_calls.tally_add(job.owner, event, ttl=ttl))
    tell(shop, job, verdict, **more)


def tell(shop: Shop, job: Job, verdict: Verdict, **more: object) -> None:
    """Count an attempt's end and write its log line: names and figures only, no content."""
    shop.recorder.count(metrics.JOBS, outcome=verdict.outcome.value, reason=verdict.reason)
    level = logging.WARNING if verdict.outcome is Outcome.FAILURE else logging.INFO
    words = _words(verdict)
    told = {"ebbtide": {**_names(job), **words, **more}}
    log.log(level, "job ended: %s, %s", *words.values(), extra=told)


def _names(job: Job) -> dict[str, Any]:
    return {
        "tenant": job.tenant,
        "session": job.session_id,
        "job": job.job_id,
        "epoch": job.epoch,
        "attempt": job.attempt,
    }


def _words(verdict: Verdict) -> dict[str, Any]:
    return {"outcome": verdict.outcome.value, "reason": verdict.reason}


def described(error: BaseException) -> str:
    """Return what may be logged of an error: our own words, else its type and where it was raised.

    Messages of foreign errors may quote content.
    """
    if isinstance(error, EbbtideError):
        return str(error)
    frames = extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
