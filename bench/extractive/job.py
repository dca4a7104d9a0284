"""One job of the extractive summariser, from packed segments to the record, without store and broker."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import After, Job, Urgency
from ebbtide_core.contract.manifest import Figures, Manifest, SegmentRef
from ebbtide_core.contract.record import SummaryRecord, Usage
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.jsonio import pack
from ebbtide_core.lineage.canonical import canonical
from ebbtide_core.lineage.chain import Position, link
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.names import Owner
from ebbtide_core.policy import Policy, document
from ebbtide_core.store.script import Call
from ebbtide_worker.bill import Bill
from ebbtide_worker.config import WorkerConfig
from ebbtide_worker.lease import Lease
from ebbtide_worker.making import Making
from ebbtide_worker.shop import new_shop

R = TypeVar("R")

_OWNER = Owner.of("bench", "session")
_NOBODY = "bench://nobody"
_ROOT = Position(0, bytes(16))


@dataclass
class Shelf:
    """What a job finds in the store, kept in memory; memos are never found and never kept."""

    values: dict[str, bytes]

    async def run(self, call: Call[R]) -> R:
        """Return what the store would, for the calls of a job that is being made."""
        return call.result([self.values.get(key) for key in call.keys] if call.script == "get" else 1)


class NoPermits:
    """Sends nothing."""

    def send(self, number: int = 1) -> None:
        """Ignore it."""

    def waiting(self) -> int:
        """None lie anywhere."""
        return 0


def upload(messages: Sequence[dict[str, Any]], dialect_name: str) -> tuple[Job, Shelf]:
    """Return a job that summarises all of the messages, and what its host uploaded."""
    dialect = by_name(dialect_name)
    policy = Policy()
    forms = [canonical(message, dialect) for message in messages]
    tokens = tuple(_tokens(message, dialect) for message in messages)
    runs = _runs(forms, policy.segment_bytes)
    segments = {
        SegmentRef(digest=f"{first:032x}", first=first, stop=stop): b"[" + b",".join(forms[first:stop]) + b"]"
        for first, stop in runs
    }
    window = max(200_000, 2 * sum(tokens))
    manifest = Manifest(
        dialect=dialect.name,
        model="bench",
        base=_ROOT,
        base_version=0,
        base_summary=None,
        position=_position(forms),
        segments=tuple(segments),
        tokens=tokens,
        exchanges=tuple(i for i, message in enumerate(messages) if not dialect.only_results(message)),
        figures=_figures(window, sum(tokens)),
        policy=document(policy, window),
    )
    job = _job(manifest)
    values = {_OWNER.segment(ref.digest): pack(content) for ref, content in segments.items()}
    return job, Shelf({_OWNER.manifest(job.manifest_id): pack(manifest.to_json()), **values})


def _tokens(message: dict[str, Any], dialect: Dialect) -> int:
    weight = dialect.weight(message)
    return tokenizer().count(weight.text) + weight.fixed + 1


def _runs(forms: Sequence[bytes], limit: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    size = limit
    for index, form in enumerate(forms):
        size += len(form)
        if size > limit:
            runs.append((index, index))
            size = len(form)
        runs[-1] = (runs[-1][0], index + 1)
    return runs


def _position(forms: Sequence[bytes]) -> Position:
    last = _ROOT.digest
    for form in forms:
        last = link(last, form)
    return Position(len(forms), last)


def _figures(window: int, tokens: int) -> Figures:
    return Figures(
        window=window,
        soft=window * 7 // 10,
        hard=window * 95 // 100,
        projected=tokens + 8_000,
        outside=4_000,
        tail=4_000,
        ratio=1.0,
        summary_max_tokens=4_096,
    )


def _job(manifest: Manifest) -> Job:
    return Job(
        job_id="0" * 32,
        tenant=_OWNER.tenant,
        session_id=_OWNER.session_id,
        incarnation="bench",
        generation=0,
        epoch=1,
        after=After(number=0, body=""),
        base_version=0,
        position=manifest.position,
        manifest_id=manifest.name(),
        urgency=Urgency.LO,
        remaining_ms=300_000,
    )


def made(job: Job, shelf: Shelf, recorder: MemoryRecorder | None = None) -> SummaryRecord:
    """Return the record of a job; the recorder then holds the seconds of each phase."""
    return asyncio.run(_made(job, shelf, recorder or MemoryRecorder()))


async def _made(job: Job, shelf: Shelf, recorder: MemoryRecorder) -> SummaryRecord:
    config = WorkerConfig(broker=_NOBODY, state=_NOBODY, ask_again=math.inf)
    shop = new_shop(config, worker_id="bench", store=shelf, recorder=recorder, permits=NoPermits())
    unpaid = Bill(lambda: (Usage(), 0.0))
    return await Making(shop, job, Lease(shelf, job, config, unpaid), until=math.inf).record()
