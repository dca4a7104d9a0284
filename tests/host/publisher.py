"""The smallest honest worker: takes a job from the index, reads what the host uploaded, publishes a local
summary."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ebbtide_core.breaker import Outcome
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.manifest import Manifest
from ebbtide_core.contract.record import (
    ChunkCoverage,
    ChunkStatus,
    RecordHeader,
    SummariserName,
    SummaryRecord,
    body_digest,
)
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.jsonio import compact, pack, unpack
from ebbtide_core.store import blob_calls, fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.results import GuardStatus, PublishResult
from ebbtide_core.summary.extractive import summarise
from ebbtide_core.summary.message import render, wrap
from ebbtide_core.summary.source import source_message

TTL = 600.0


def take(store: SyncStore) -> Job | None:
    """Take the next job of the index."""
    return store.run(fleet_calls.take("publisher", lease=30, max_queue_age=120, ttl=TTL)).job


def manifest_of(store: SyncStore, job: Job) -> Manifest:
    """Read the manifest that the host uploaded."""
    data = store.run(blob_calls.get(job.owner.manifest(job.manifest_id)))
    assert data is not None, "the manifest is missing"
    return Manifest.from_json(unpack(data))


def messages_of(store: SyncStore, job: Job, manifest: Manifest) -> list[Any]:
    """Read the messages of the job's range."""
    found: list[Any] = []
    for ref in manifest.segments:
        data = store.run(blob_calls.get(job.owner.segment(ref.digest)))
        assert data is not None, "a segment is missing"
        found += json.loads(unpack(data))
    return found


def record_of(job: Job, manifest: Manifest, messages: Sequence[Any]) -> SummaryRecord:
    """Summarise the job's range as one chunk."""
    dialect, first = by_name(manifest.dialect), manifest.base.count
    source = [source_message(first + i, m, dialect) for i, m in enumerate(messages)]
    summary = summarise(
        source,
        base=manifest.base_summary,
        budget=manifest.figures.summary_room,
        count=lambda text: tokenizer().count(_whole(text, manifest)),
    )
    text = render(summary)
    whole = ChunkCoverage(digest="", first=first, stop=manifest.position.count, status=ChunkStatus.EXTRACTED)
    return SummaryRecord(
        version=job.after.number + 1,
        incarnation=job.incarnation,
        generation=job.generation,
        base_version=job.base_version,
        base=manifest.base,
        position=manifest.position,
        carried=manifest.carried,
        released=manifest.released_from,
        summary=summary,
        text=text,
        coverage=(whole,),
        summariser=SummariserName(name="extractive", fingerprint="test"),
        source_tokens=sum(manifest.tokens),
        summary_tokens=tokenizer().count(text),
        created_at=0.0,
        job_id=job.job_id,
        body=body_digest(manifest.position, manifest.carried, text),
    )


def _whole(text: str, manifest: Manifest) -> str:
    """The summary message as the model will see it, which is what its budget bounds."""
    body = body_digest(manifest.position, manifest.carried, text)
    told = wrap(text, version=1, position=manifest.position, carried=manifest.carried, body=body)
    return compact(by_name(manifest.dialect).user(told))


def publish(store: SyncStore, job: Job, record: SummaryRecord) -> PublishResult:
    """Publish a record for a job."""
    header = RecordHeader(
        version=record.version, generation=record.generation, position=record.position, body=record.body
    )
    result = store.run(
        session_calls.publish(
            job.owner,
            record_bytes=pack(record.to_json()),
            header=header,
            after=job.after,
            incarnation=job.incarnation,
            kept=5,
            state_ttl=TTL,
        )
    )
    store.run(fleet_calls.done(job))
    return result


def settle(store: SyncStore, job: Job, outcome: Outcome) -> bool:
    """End a job's attempt."""
    store.run(fleet_calls.done(job))
    return store.run(
        session_calls.settle(
            job.owner,
            incarnation=job.incarnation,
            generation=job.generation,
            job_id=job.job_id,
            epoch=job.epoch,
            attempt=job.attempt,
            outcome=outcome,
            breaker_failures=3,
            state_ttl=600,
        )
    )


def guarded(store: SyncStore, job: Job) -> GuardStatus:
    """Ask the session's guard for a job's attempt."""
    return store.run(
        session_calls.guard(
            job.owner,
            incarnation=job.incarnation,
            generation=job.generation,
            job_id=job.job_id,
            epoch=job.epoch,
            attempt=job.attempt,
            after=job.after,
            lease=30,
        )
    )


def work_once(store: SyncStore) -> PublishResult | None:
    """Do the next job of the index, if there is one and the session still wants it."""
    job = take(store)
    if job is None:
        return None
    allowed = guarded(store, job)
    if allowed is not GuardStatus.GO:
        store.run(fleet_calls.done(job))
        return None
    manifest = manifest_of(store, job)
    return publish(store, job, record_of(job, manifest, messages_of(store, job, manifest)))


@contextmanager
def working(store: SyncStore) -> Iterator[list[PublishResult]]:
    """Do all jobs of the index in a thread of its own, and list what came of them."""
    results: list[PublishResult] = []
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.01):
            result = work_once(store)
            if result is not None:
                results.append(result)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield results
    finally:
        stop.set()
        thread.join()
