"""A published summary: immutable, numbered, with its coverage."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ebbtide_core.contract.base import Contract, PositionField
from ebbtide_core.jsonio import digest
from ebbtide_core.lineage.chain import Position
from ebbtide_core.summary.model import Summary


class ChunkStatus(StrEnum):
    """How a chunk became part of the summary."""

    SUMMARISED = "summarised"
    MEMOISED = "memoised"
    EXTRACTED = "extracted"


class ChunkCoverage(Contract):
    """One chunk: lineage indices `first` up to, not including, `stop`; digest of its canonical bytes in
    hex."""

    digest: str
    first: int = Field(ge=0)
    stop: int = Field(ge=0)
    status: ChunkStatus


class Carried(Contract):
    """A message that outlives the position: its lineage index and the digest of its canonical form in hex."""

    index: int = Field(ge=0)
    digest: str = Field(min_length=32, max_length=32)


class RecordKind(StrEnum):
    """Whether the summary is ours to read, or a provider's signed block."""

    STRUCTURED = "structured"
    NATIVE = "native"


class SummariserName(Contract):
    """Who wrote the summary: summariser, its model ("" when none), fingerprint of its prompts."""

    name: str
    model: str = ""
    fingerprint: str


class Usage(Contract):
    """Tokens paid for, over all calls of the job."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    calls: int = 0


class SummaryRecord(Contract):
    """One version. `text` is what the model sees between the markers; `body` names it (see `body_digest`).

    `base` is where its range begins: chunks and carried messages cover lineage indices `base.count` up to
    `position.count`, each exactly once. `released` is the chunk of messages that the base carried and this
    record does not. Times are seconds since the epoch, costs are in US dollars.
    """

    version: int = Field(ge=1)
    incarnation: str
    generation: int = Field(ge=0)
    base_version: int = Field(ge=0)
    base: PositionField
    position: PositionField
    carried: tuple[Carried, ...] = ()
    released: tuple[Carried, ...] = ()
    summary: Summary
    text: str
    coverage: tuple[ChunkCoverage, ...]
    kind: RecordKind = RecordKind.STRUCTURED
    degraded: bool = False
    summariser: SummariserName
    source_tokens: int = Field(ge=0)
    summary_tokens: int = Field(ge=0)
    usage: Usage = Usage()
    cost: float = 0.0
    created_at: float
    job_id: str
    body: str

    def body_fits(self) -> bool:
        """Say whether `body` is the digest of what the record holds."""
        return self.body == body_digest(self.position, self.carried, self.text)


def body_digest(position: Position, carried: tuple[Carried, ...], text: str) -> str:
    """Return the name of a record's body (32 hex digits): what it stands for, what it carries, what it
    says."""
    listed = ",".join(f"{c.index}:{c.digest}" for c in carried)
    return digest(b"ebbtide/body/1", str(position).encode(), listed.encode(), text.encode()).hex()


class RecordHeader(Contract):
    """What the session state keeps of a record: enough to know whether it applies and which body it names."""

    version: int = Field(ge=1)
    generation: int = Field(ge=0)
    position: PositionField
    body: str
    withdrawn: bool = False
