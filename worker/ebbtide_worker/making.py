"""Making one record: load, plan, map, reduce, validate. What it pays for, it may pay only while the lease
holds.
"""

from __future__ import annotations

import time
from asyncio import Semaphore, to_thread
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from time import monotonic

from ebbtide_core import metrics
from ebbtide_core.budget.measure import scaled
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.manifest import Manifest
from ebbtide_core.contract.record import ChunkCoverage, ChunkStatus, SummaryRecord
from ebbtide_worker.calls import Calls
from ebbtide_worker.compose import Made, compose, coverage
from ebbtide_worker.lease import Lease
from ebbtide_worker.mapper import Mapped, Mapper
from ebbtide_worker.memos import Memos
from ebbtide_worker.plan import Plan, plan
from ebbtide_worker.reducer import Reducer
from ebbtide_worker.shop import Shop
from ebbtide_worker.snapshot import Snapshot, fetch, read_snapshot
from ebbtide_worker.summarisers.base import Summariser, Terms, signature


class Stage(StrEnum):
    """How far an attempt has come."""

    LOAD = "load"
    MAP = "map"
    REDUCE = "reduce"
    VALIDATE = "validate"
    PUBLISH = "publish"


class Making:
    """The work of one attempt. `stage` is where it is; `statuses` are those of the chunks that are done."""

    def __init__(self, shop: Shop, job: Job, lease: Lease) -> None:
        self._shop = shop
        self._job = job
        self._calls = Calls(lease, Semaphore(shop.config.map_per_job), shop.calls, shop.recorder)
        self._mapper: Mapper | None = None
        self.stage = Stage.LOAD
        self.statuses: Counter[ChunkStatus] = Counter()

    async def record(self) -> SummaryRecord:
        """Return the record to publish. Raises what `verdict.of_error` knows."""
        with self.staged(Stage.LOAD):
            snapshot, summariser, terms, planned = await self._loaded()
        with self.staged(Stage.MAP):
            mapped = await self._mapped(planned, summariser, terms)
        with self.staged(Stage.REDUCE):
            parts = [each.partial.summary for each in mapped]
            reducer = Reducer(summariser, terms, self._calls)
            summary = await reducer.run(parts, snapshot.manifest.base_summary)
        with self.staged(Stage.VALIDATE):
            made = Made(signature(summariser), self._calls.usage, _coverage(planned, mapped))
            return await to_thread(compose, self._job, snapshot, summary, made, terms=terms, now=time.time())

    async def forget(self) -> None:
        """Delete the memos that were used: what was made of them failed."""
        if self._mapper is not None:
            await self._mapper.forget()

    @property
    def figures(self) -> dict[str, int]:
        """What was done and paid so far, for the log."""
        usage = self._calls.usage
        return {
            "summarised": self.statuses[ChunkStatus.SUMMARISED],
            "memoised": self.statuses[ChunkStatus.MEMOISED],
            "calls": usage.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
        }

    @contextmanager
    def staged(self, stage: Stage) -> Iterator[None]:
        """Note the stage, and how long it took."""
        self.stage = stage
        begun = monotonic()
        yield
        self._shop.recorder.observe(metrics.JOB_SECONDS, monotonic() - begun, phase=stage.value)

    async def _loaded(self) -> tuple[Snapshot, Summariser, Terms, Plan]:
        codec = self._shop.config.codec
        manifest, segments = await fetch(self._shop.patient, self._job, codec)
        summariser = self._shop.summarisers.get(manifest.policy.summariser)
        terms = _terms(self._job, manifest)
        budget = min(manifest.policy.chunk_tokens, summariser.window // 2)

        def read_and_planned() -> tuple[Snapshot, Plan]:
            snapshot = read_snapshot(manifest, segments, self._job.tenant, codec)
            return snapshot, plan(snapshot, budget, tokenizer().count)

        snapshot, planned = await to_thread(read_and_planned)
        return snapshot, summariser, terms, planned

    async def _mapped(self, planned: Plan, summariser: Summariser, terms: Terms) -> list[Mapped]:
        shop = self._shop
        memos = Memos(shop.patient, self._job, shop.config.codec, shop.config.upload_ttl)
        self._mapper = Mapper(summariser, terms, self._calls, memos, shop.recorder)
        mapped = await self._mapper.run(planned.chunks)
        self.statuses.update(each.status for each in mapped)
        return mapped


def _terms(job: Job, manifest: Manifest) -> Terms:
    ratio = manifest.figures.ratio

    def count(text: str) -> int:
        return scaled(tokenizer().count(text), ratio)

    policy = manifest.policy
    return Terms(
        job.tenant, policy.language, policy.summary_max_tokens, count, instructions=policy.instructions
    )


def _coverage(planned: Plan, mapped: Sequence[Mapped]) -> tuple[ChunkCoverage, ...]:
    statuses = [each.status for each in mapped[len(planned.released) :]]
    return coverage(planned.spans, statuses)
