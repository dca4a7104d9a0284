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
from typing import Final

from ebbtide_core import metrics
from ebbtide_core.budget.measure import scaled
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.manifest import Manifest
from ebbtide_core.contract.record import ChunkCoverage, ChunkStatus, SummaryRecord, Usage
from ebbtide_core.errors import ContractError
from ebbtide_worker.calls import Bounds, Calls
from ebbtide_worker.compose import Made, compose, coverage
from ebbtide_worker.ending import log
from ebbtide_worker.lease import Lease
from ebbtide_worker.mapper import Mapped, Mapper, maker
from ebbtide_worker.memos import Memos
from ebbtide_worker.plan import Plan, plan
from ebbtide_worker.reducer import Reducer
from ebbtide_worker.retry import Backoff
from ebbtide_worker.routes import Route, route_of
from ebbtide_worker.shop import Shop
from ebbtide_worker.snapshot import Snapshot, fetch, read_snapshot
from ebbtide_worker.summarisers.base import Terms, signature
from ebbtide_worker.verdict import POLICY_UNREADABLE, Stop

ENDING_SECONDS: Final = 0.5
ENDING_SHARE: Final = 0.1
"""Calls are over so long before the attempt's own time is, or this share of it: one that hangs then ends as
what it is, a call that the provider did not answer, and not as an attempt that was too slow.
"""


class Stage(StrEnum):
    """How far an attempt has come."""

    LOAD = "load"
    MAP = "map"
    REDUCE = "reduce"
    VALIDATE = "validate"
    PUBLISH = "publish"


class Making:
    """The work of one attempt, whose time is over at `until` (`monotonic`). `stage` is where it is;
    `statuses` are those of the chunks that are done.
    """

    def __init__(self, shop: Shop, job: Job, lease: Lease, until: float) -> None:
        self._shop = shop
        self._job = job
        self._calls = Calls(lease, shop.accounts, _bounds(shop, until), shop.recorder)
        self._mapper: Mapper | None = None
        self.stage = Stage.LOAD
        self.statuses: Counter[ChunkStatus] = Counter()

    async def record(self) -> SummaryRecord:
        """Return the record to publish. Raises what `verdict.of_error` knows."""
        with self.staged(Stage.LOAD):
            snapshot, route, terms, planned = await self._loaded()
        with self.staged(Stage.MAP):
            mapped = await self._mapped(planned, route, terms)
        with self.staged(Stage.REDUCE):
            parts = [each.partial.summary for each in mapped]
            reducer = Reducer(route, terms, self._calls)
            summary = await reducer.run(parts, snapshot.manifest.base_summary)
        with self.staged(Stage.VALIDATE):
            made = self._made(route, planned, mapped)
            return await to_thread(compose, self._job, snapshot, summary, made, terms=terms, now=time.time())

    async def forget(self) -> None:
        """Delete the memos that were used: what was made of them failed."""
        if self._mapper is not None:
            await self._mapper.forget()

    @property
    def usage(self) -> Usage:
        """What was paid so far."""
        return self._calls.usage

    @property
    def dollars(self) -> float:
        """What that is in US dollars, by the rates of the hops."""
        return self._calls.dollars

    @property
    def figures(self) -> dict[str, float]:
        """What was done and paid so far, for the log."""
        usage = self.usage
        return {
            "summarised": self.statuses[ChunkStatus.SUMMARISED],
            "memoised": self.statuses[ChunkStatus.MEMOISED],
            "extracted": self.statuses[ChunkStatus.EXTRACTED],
            "calls": usage.calls,
            "uncertain_calls": self._calls.uncertain,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "dollars": round(self.dollars, 6),
        }

    @contextmanager
    def staged(self, stage: Stage) -> Iterator[None]:
        """Note the stage, and how long it took."""
        self.stage = stage
        begun = monotonic()
        yield
        self._shop.recorder.observe(metrics.JOB_SECONDS, monotonic() - begun, phase=stage.value)

    async def _loaded(self) -> tuple[Snapshot, Route, Terms, Plan]:
        codec = self._shop.config.codec
        manifest, segments = await fetch(self._shop.patient, self._job, codec)
        route = await self._route(manifest)
        terms = _terms(self._job, manifest)
        budget = min(manifest.policy.chunk_tokens, route.first.window // 2)

        def read_and_planned() -> tuple[Snapshot, Plan]:
            snapshot = read_snapshot(manifest, segments, self._job.tenant, codec)
            return snapshot, plan(snapshot, budget, tokenizer().count)

        snapshot, planned = await to_thread(read_and_planned)
        return snapshot, route, terms, planned

    async def _route(self, manifest: Manifest) -> Route:
        shop, tenant = self._shop, self._job.tenant
        try:
            policy = await shop.tenants.sure(tenant, shop.patient)
        except ContractError as error:
            log.error("a tenant's policy can't be read, its jobs do not run: apply it anew (%s)", error)
            raise Stop(POLICY_UNREADABLE) from None
        return route_of(policy, manifest.policy.summariser, tenant, shop.summarisers, shop.config)

    async def _mapped(self, planned: Plan, route: Route, terms: Terms) -> list[Mapped]:
        shop = self._shop
        memos = Memos(shop.patient, self._job, shop.config.codec, shop.config.upload_ttl)
        self._mapper = Mapper(route, terms, self._calls, memos, shop.recorder)
        mapped = await self._mapper.run(planned.chunks)
        self.statuses.update(each.status for each in mapped)
        return mapped

    def _made(self, route: Route, planned: Plan, mapped: Sequence[Mapped]) -> Made:
        return Made(
            summariser=signature(route.hops[maker(mapped)].summariser),
            usage=self.usage,
            cost=self.dollars,
            coverage=_coverage(planned, mapped),
            degraded=any(each.status is ChunkStatus.EXTRACTED for each in mapped),
        )


def _bounds(shop: Shop, until: float) -> Bounds:
    config = shop.config
    return Bounds(
        job=Semaphore(config.map_per_job),
        process=shop.calls,
        each=config.call_deadline,
        until=until - min(ENDING_SECONDS, (until - monotonic()) * ENDING_SHARE),
        backoff=Backoff(config.retry_base, config.retry_cap),
    )


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
