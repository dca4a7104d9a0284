"""From the merged summary to the record: what code knows put in, fitted, checked, judged, rendered. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ebbtide_core.budget.measure import scaled
from ebbtide_core.contract.job import Job
from ebbtide_core.contract.manifest import LEAST_SUMMARY_SHARE, Figures, Manifest
from ebbtide_core.contract.record import (
    Carried,
    ChunkCoverage,
    ChunkStatus,
    SummariserName,
    SummaryRecord,
    Usage,
    body_digest,
)
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.jsonio import compact
from ebbtide_core.summary.extractive import extract
from ebbtide_core.summary.fit import fit
from ebbtide_core.summary.message import render, wrap
from ebbtide_core.summary.model import Summary
from ebbtide_core.summary.source import contains
from ebbtide_core.summary.validate import check, with_ledger
from ebbtide_worker.plan import Span
from ebbtide_worker.snapshot import Snapshot
from ebbtide_worker.summarisers.base import Terms
from ebbtide_worker.verdict import NoProgress

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Made:
    """How a summary was made: by whom, at which price (US dollars), each span's status; `degraded` when some
    of it was read by rules in place of the summariser.
    """

    summariser: SummariserName
    usage: Usage
    cost: float
    coverage: tuple[ChunkCoverage, ...]
    degraded: bool


def coverage(spans: Sequence[Span], statuses: Sequence[ChunkStatus]) -> tuple[ChunkCoverage, ...]:
    """Return what a record says of its spans. `statuses` are those of their chunks, in order.

    A span of several chunks is memoised when all of them were, and extracted when one of them was.
    """
    left = iter(statuses)
    return tuple(
        ChunkCoverage(
            digest=span.digest,
            first=span.first,
            stop=span.stop,
            status=_joint([next(left) for _ in span.chunks]),
        )
        for span in spans
    )


def _joint(statuses: Sequence[ChunkStatus]) -> ChunkStatus:
    if ChunkStatus.EXTRACTED in statuses:
        return ChunkStatus.EXTRACTED
    memoised = bool(statuses) and all(status is ChunkStatus.MEMOISED for status in statuses)
    return ChunkStatus.MEMOISED if memoised else ChunkStatus.SUMMARISED


def compose(
    job: Job, snapshot: Snapshot, summary: Summary, made: Made, *, terms: Terms, now: float
) -> SummaryRecord:
    """Return the record that publishes a merged summary on the job's terms.

    Raises SummaryRejected when a check fails, NoProgress when no summary could make the request a tenth
    smaller.
    """
    manifest = snapshot.manifest

    def size(text: str) -> int:
        return terms.count(_message(job, manifest, text))

    listed = terms.count(_message(job, manifest, "", manifest.carried)) - size("")
    final = _validated(snapshot, summary, room(manifest.figures, listed), size, terms)
    text = render(final)
    return SummaryRecord(
        version=job.after.number + 1,
        incarnation=job.incarnation,
        generation=job.generation,
        base_version=manifest.base_version,
        base=manifest.base,
        position=manifest.position,
        carried=manifest.carried,
        released=manifest.released_from,
        summary=final,
        text=text,
        coverage=made.coverage,
        degraded=made.degraded,
        summariser=made.summariser,
        source_tokens=_source_tokens(snapshot),
        summary_tokens=size(text) + listed,
        usage=made.usage,
        cost=made.cost,
        created_at=now,
        job_id=job.job_id,
        body=body_digest(manifest.position, manifest.carried, text),
    )


def _validated(snapshot: Snapshot, summary: Summary, budget: int, size: Count, terms: Terms) -> Summary:
    """Return the summary as it is published; `size` gives the tokens that a rendered summary takes in a
    buffer.

    The checks run twice: on what the summariser wrote, and with what code put in, fitted into the budget.
    """
    manifest = snapshot.manifest
    in_source = contains(snapshot.sources, manifest.base_summary)

    def checked(one: Summary, tokens: int) -> Summary:
        return check(
            one,
            source_messages=snapshot.replaced,
            source_text_contains=in_source,
            summary_tokens=tokens,
            max_tokens=budget,
        ).summary

    extracted = extract(
        snapshot.sources, base=manifest.base_summary, language=terms.language, reader=terms.reader
    )
    whole = fit(with_ledger(checked(summary, 0), extracted), budget, size)
    return checked(whole, size(render(whole)))


def _message(job: Job, manifest: Manifest, text: str, carried: tuple[Carried, ...] = ()) -> str:
    """Return the summary message as it is counted in a buffer.

    The budget bounds it without the list of carried messages, which no summary could make shorter.
    """
    body = body_digest(manifest.position, manifest.carried, text)
    told = wrap(text, job.after.number + 1, manifest.position, carried, body)
    return compact(by_name(manifest.dialect).user(told))


def room(figures: Figures, listed: int) -> int:
    """Return the tokens that a summary may take, beside the `listed` ones that name carried messages.

    Raises NoProgress when that is too little for a swap that makes the request a tenth smaller (law 9).
    """
    left = min(figures.summary_max_tokens, figures.summary_room - listed)
    if left < figures.summary_max_tokens // LEAST_SUMMARY_SHARE:
        raise NoProgress([f"{left} tokens are left for a summary of {figures.projected} tokens' request"])
    return left


def _source_tokens(snapshot: Snapshot) -> int:
    manifest = snapshot.manifest
    sizes = enumerate(manifest.tokens, manifest.base.count)
    return scaled(sum(n for index, n in sizes if index not in snapshot.carried), manifest.figures.ratio)
