"""A compaction job as it stands in the ready index: below 2 kB, no content, no secret."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field

from ebbtide_core.contract.base import Contract, PositionField
from ebbtide_core.jsonio import canonical_bytes, digest
from ebbtide_core.lineage.chain import Position
from ebbtide_core.names import Owner

MAX_TRACE_BYTES: Final = 400
"""Of the trace headers as JSON: beside the longest names a job stays below 2 kB."""


class Urgency(StrEnum):
    """The job's rank within its tenant: hi once the session waits at hard."""

    HI = "hi"
    LO = "lo"


class After(Contract):
    """The newest record at the moment of the claim: its number (0: none) and body digest ("" : none)."""

    number: int = Field(ge=0)
    body: str


def _small(headers: dict[str, str]) -> dict[str, str]:
    if len(canonical_bytes(headers)) > MAX_TRACE_BYTES:
        raise ValueError(f"trace headers of more than {MAX_TRACE_BYTES} bytes")
    return headers


class Job(Contract):
    """One claimed compaction of one session.

    An attempt is `(job_id, epoch, attempt)`. `remaining_ms` is what is left of the job's deadline when it is
    enqueued. `base_version` says only what the merge builds on.
    """

    job_id: str
    tenant: str
    session_id: str
    incarnation: str
    generation: int = Field(ge=0)
    epoch: int = Field(ge=1)
    attempt: int = Field(ge=0, default=0)
    after: After
    base_version: int = Field(ge=0)
    position: PositionField
    manifest_id: str
    urgency: Urgency
    remaining_ms: int = Field(ge=0)
    trace: Annotated[dict[str, str], AfterValidator(_small)] = Field(default_factory=dict, max_length=4)

    @property
    def owner(self) -> Owner:
        """The session the job belongs to."""
        return Owner(self.tenant, self.session_id)

    def again(self) -> Self:
        """Return the job's next attempt, after a lost lease."""
        return self.model_copy(update={"attempt": self.attempt + 1})


def job_id(owner: Owner, position: Position, policy_fingerprint: str) -> str:
    """Return the job's name: what is to be summarised, for whom, under which policy (32 hex digits)."""
    parts = (owner.tenant, owner.session_id, str(position), policy_fingerprint)
    return digest(b"ebbtide/job/1", *(p.encode() for p in parts)).hex()
