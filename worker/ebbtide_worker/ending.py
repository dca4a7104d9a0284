"""Telling of an attempt's end: to the session, to metrics, to the log."""

from __future__ import annotations

import logging
from traceback import extract_tb
from typing import Any

from ebbtide_core import metrics
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Job
from ebbtide_core.errors import EbbtideError
from ebbtide_core.store import session_calls, tally_calls
from ebbtide_core.store.script import Call
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.shop import Shop
from ebbtide_worker.verdict import Verdict

log = logging.getLogger("ebbtide.worker")


def settle_call(job: Job, outcome: Outcome, config: WorkerConfig) -> Call[bool]:
    """Return the call that ends the job's claim with an outcome."""
    return session_calls.settle(
        job.owner,
        incarnation=job.incarnation,
        generation=job.generation,
        job_id=job.job_id,
        epoch=job.epoch,
        attempt=job.attempt,
        outcome=outcome,
        breaker_failures=config.breaker_failures,
        state_ttl=config.state_ttl,
    )


async def settle(shop: Shop, job: Job, verdict: Verdict, **more: object) -> None:
    """Settle an attempt with the session, and tell of it. Raises StoreUnavailable."""
    await shop.patient.run(settle_call(job, verdict.outcome, shop.config))
    event = f"{verdict.outcome.value}:{verdict.reason}"
    await shop.patient.run(tally_calls.tally_add(job.owner, event, ttl=shop.config.state_ttl))
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
