"""What a worker needs of a session to make one summary: references to uploaded segments, figures, the
base."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from ebbtide_core.contract.base import Contract, PositionField
from ebbtide_core.contract.record import Carried
from ebbtide_core.jsonio import digest
from ebbtide_core.summary.model import Summary


class SegmentRef(Contract):
    """A run of lineage messages stored under its content's digest (hex): indices `first` to `stop`,
    excluded."""

    digest: str
    first: int = Field(ge=0)
    stop: int = Field(ge=0)


PROGRESS: Final = 0.9
"""A swap must leave at most this share of the request (law 9)."""

AIM: Final = 0.85
"""What a summary is fitted for: the request grows while the job runs, and the swap must still be worth it."""

LEAST_SUMMARY_SHARE: Final = 8
FAIR_SUMMARY_SHARE: Final = 4
"""With less than an eighth of its cap a summary is not worth a job; a quarter goes before the aim."""


def progressed(before: int, after: int) -> bool:
    """Say whether a swap that takes a request from `before` to `after` tokens makes progress (law 9)."""
    return after <= PROGRESS * before


def least_new(projected: int, min_new_tokens: int, summary_max_tokens: int) -> int:
    """Return the tokens that a compaction must newly summarise to be worth a job: `min_new_tokens`, and
    enough for a summary of an eighth of its cap that leaves a tenth less."""
    tenth = projected - int(PROGRESS * projected)
    return max(min_new_tokens, tenth + summary_max_tokens // LEAST_SUMMARY_SHARE)


class Figures(Contract):
    """Token figures as the host measured them, ratio applied, so that a worker judges progress without
    counting.

    `projected`: the request as it was when claimed. `outside`: system, tools, max_tokens and pending results.
    `tail`: messages after the position, with carried ones.
    """

    window: int = Field(gt=0)
    soft: int = Field(gt=0)
    hard: int = Field(gt=0)
    projected: int = Field(ge=0)
    outside: int = Field(ge=0)
    tail: int = Field(ge=0)
    ratio: float = Field(gt=0)
    summary_max_tokens: int = Field(gt=0)

    @property
    def summary_room(self) -> int:
        """Tokens that a summary may take: at most its cap, and so few that a swap leaves a tenth less."""
        kept = self.outside + self.tail
        aimed, most = int(AIM * self.projected) - kept, int(PROGRESS * self.projected) - kept
        fair = min(most, self.summary_max_tokens // FAIR_SUMMARY_SHARE)
        return min(self.summary_max_tokens, max(aimed, fair))


MAX_INSTRUCTIONS_CHARS: Final = 4_000


class PolicyDocument(Contract):
    """The policy fields that change a summary; their fingerprint is part of the job's name.

    `instructions` are what the host asks of this one summary, for summarisers that can follow them.
    """

    chunk_tokens: int = Field(gt=0)
    summary_max_tokens: int = Field(gt=0)
    summariser: str = ""
    language: str = ""
    instructions: str = Field(default="", max_length=MAX_INSTRUCTIONS_CHARS)


class Manifest(Contract):
    """One job's input. `tokens[i]` is the count of the lineage message `base.count + i`, ratio not applied.
    `exchanges` are the lineage indices at which an exchange begins: the only places where chunks may be cut.
    `released` is a segment of messages that the base record carried and this job doesn't (`first` and `stop`
    are then 0 and their number); `released_from` lists them.
    """

    dialect: str
    model: str
    base: PositionField
    base_version: int = Field(ge=0)
    base_summary: Summary | None
    position: PositionField
    segments: tuple[SegmentRef, ...]
    tokens: tuple[int, ...]
    exchanges: tuple[int, ...]
    carried: tuple[Carried, ...] = ()
    released: SegmentRef | None = None
    released_from: tuple[Carried, ...] = ()
    figures: Figures
    policy: PolicyDocument

    def name(self) -> str:
        """Return the manifest's id: the digest of its content (32 hex digits)."""
        return manifest_name(self.to_json())


def manifest_name(document: bytes) -> str:
    """Return the id of a manifest as it was written, also by a newer minor version with unknown fields."""
    return digest(b"ebbtide/manifest/1", document).hex()
