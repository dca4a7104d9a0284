"""What the background work needs to have one compaction made, and the documents it uploads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide_core.budget.boundary import Cut
from ebbtide_core.contract.job import After, Job, Urgency, job_id
from ebbtide_core.contract.manifest import Figures, Manifest, PolicyDocument, SegmentRef
from ebbtide_core.contract.record import Carried
from ebbtide_core.errors import EbbtideError, InputError
from ebbtide_core.jsonio import digest
from ebbtide_core.lineage.buffer import Buffer, Kind, checked
from ebbtide_core.lineage.canonical import canonical
from ebbtide_core.lineage.chain import link
from ebbtide_core.lineage.exchanges import exchanges
from ebbtide_core.names import Owner
from ebbtide_core.policy import Policy, document, fingerprint


class BufferChanged(EbbtideError):
    """A message was changed in place after it was read: nothing was uploaded; the next turn reads all
    anew."""


@dataclass(frozen=True, slots=True)
class Order:
    """One wish for a compaction: whose, of what, how urgent.

    `counts` are the tokenizer's of each message; `waits` is a ready record that wasn't swapped (0: none);
    `instructions` are the host's for this one summary.
    """

    owner: Owner
    incarnation: str
    generation: int
    buffer: Buffer
    cut: Cut
    figures: Figures
    policy: Policy
    model: str
    counts: Sequence[int]
    urgency: Urgency
    new_tokens: int
    min_new_tokens: int
    waits: int = 0
    instructions: str = ""

    @property
    def document(self) -> PolicyDocument:
        """The policy fields that change the summary."""
        return document(self.policy, self.figures.window, self.instructions)

    @property
    def job_id(self) -> str:
        """The name of the wished job."""
        return job_id(self.owner, self.cut.position, fingerprint(self.document))

    def job(self, epoch: int, after: After, manifest_id: str) -> Job:
        """Return the job for a claim that was given."""
        summary = self.buffer.summary
        return Job(
            job_id=self.job_id,
            tenant=self.owner.tenant,
            session_id=self.owner.session_id,
            incarnation=self.incarnation,
            generation=self.generation,
            epoch=epoch,
            after=after,
            base_version=summary.version if summary else 0,
            position=self.cut.position,
            manifest_id=manifest_id,
            urgency=self.urgency,
            remaining_ms=int(self.policy.job_deadline * 1000),
        )


@dataclass(frozen=True, slots=True)
class Upload:
    """A manifest and the contents of its segments by their digest, not compressed."""

    manifest: Manifest
    contents: dict[str, bytes]


def upload(order: Order) -> Upload:
    """Return what a worker needs. Raises BufferChanged when the messages no longer are what was read."""
    buffer, cut = order.buffer, order.cut
    spoken = [i for i, e in enumerate(buffer.entries[: cut.index]) if e.kind is Kind.SPOKEN]
    forms = [_form(buffer, i) for i in spoken]
    if _tip(buffer, forms) != cut.position.digest:
        raise BufferChanged("a message was changed in place after it was read")
    contents: dict[str, bytes] = {}
    first = buffer.chain.base.count
    segments = tuple(
        _segment(run, at, contents) for at, run in _runs(forms, first, order.policy.segment_bytes)
    )
    released = _released(order, contents)
    summary = buffer.summary
    manifest = Manifest(
        dialect=buffer.dialect.name,
        model=order.model,
        base=buffer.chain.base,
        base_version=summary.version if summary else 0,
        base_summary=summary.summary if summary else None,
        position=cut.position,
        segments=segments,
        tokens=tuple(order.counts[i] for i in spoken),
        exchanges=_starts(buffer, cut),
        carried=cut.carried,
        released=released,
        released_from=cut.released,
        figures=order.figures,
        policy=order.document,
    )
    return Upload(manifest, contents)


def _form(buffer: Buffer, index: int) -> bytes:
    try:
        return canonical(checked(buffer.passed[index], index, buffer.dialect), buffer.dialect)
    except InputError as error:
        raise BufferChanged(f"a message was changed in place after it was read: {error.problem}") from None


def _tip(buffer: Buffer, forms: Sequence[bytes]) -> bytes:
    last = buffer.chain.base.digest
    for form in forms:
        last = link(last, form)
    return last


def _runs(forms: Sequence[bytes], first: int, limit: int) -> list[tuple[int, list[bytes]]]:
    """Return runs of messages of at most `limit` bytes each (or one larger message), with their first
    index."""
    runs: list[tuple[int, list[bytes]]] = []
    size = 0
    for index, form in enumerate(forms, first):
        if not runs or size + len(form) > limit:
            runs.append((index, []))
            size = 0
        runs[-1][1].append(form)
        size += len(form)
    return runs


def _segment(run: Sequence[bytes], first: int, contents: dict[str, bytes]) -> SegmentRef:
    content = b"[" + b",".join(run) + b"]"
    name = digest(b"ebbtide/segment/1", content).hex()
    contents[name] = content
    return SegmentRef(digest=name, first=first, stop=first + len(run))


def _released(order: Order, contents: dict[str, bytes]) -> SegmentRef | None:
    listed: set[Carried] = set(order.cut.released)
    if not listed:
        return None
    forms = [
        _form(order.buffer, i)
        for i, e in enumerate(order.buffer.entries[: order.cut.index])
        if e.kind is Kind.CARRIED and Carried(index=e.index, digest=e.digest) in listed
    ]
    return _segment(forms, 0, contents)


def _starts(buffer: Buffer, cut: Cut) -> tuple[int, ...]:
    """Return the lineage indices at which an exchange of newly spoken messages begins."""
    starts = []
    for run in exchanges(buffer.entries):
        spoken = [
            e.index for e in buffer.entries[run.start : min(run.stop, cut.index)] if e.kind is Kind.SPOKEN
        ]
        starts += spoken[:1]
    return tuple(starts)
