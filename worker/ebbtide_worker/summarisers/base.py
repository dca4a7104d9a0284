"""The protocol of a summariser: what it is shown, what it returns, how it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from ebbtide_core.contract.record import SummariserName, Usage
from ebbtide_core.errors import EbbtideError
from ebbtide_core.summary.extract import Reader
from ebbtide_core.summary.model import Summary
from ebbtide_core.summary.source import SourceMessage


class FaultKind(StrEnum):
    """Why a summariser's call gave nothing usable."""

    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    NOT_JSON = "not_json"
    SCHEMA = "schema"
    TOOL_CALL = "tool_call"
    TOO_LONG = "too_long"
    BAD_REQUEST = "bad_request"
    AUTH = "auth"
    UNEXPECTED = "unexpected"


PROVIDER_DOWN: Final = frozenset({FaultKind.RATE_LIMITED, FaultKind.UNAVAILABLE, FaultKind.TIMEOUT})
"""Kinds that say something about the provider and nothing about the session: they settle neutral."""

UNREAD: Final = PROVIDER_DOWN | {FaultKind.AUTH}
"""Kinds that say nothing about what the call was shown: nobody has looked at it."""


class SummariserFault(EbbtideError):
    """A call gave nothing usable. `detail` is for people and holds neither content nor secrets.

    `usage` is what the provider charged for the call all the same.
    """

    def __init__(self, kind: FaultKind, detail: str = "", usage: Usage | None = None) -> None:
        self.kind = kind
        self.detail = detail
        self.usage = usage or Usage()
        super().__init__(f"{kind.value}: {detail}" if detail else kind.value)


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one call is shown: whole messages of the lineage in order, or a part of an oversized exchange.

    `text` is the messages as a transcript, about `tokens` tokens; it is untrusted. `label` says which
    messages these are. How many chunks the job has is not told: the result is memoised, and serves longer
    jobs too.
    """

    label: str
    messages: tuple[SourceMessage, ...]
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What a job asks of each of its summaries: its language ("": that of the conversation), its size at
    most.

    `count` gives the tokens of a text in the host's model, in which `max_tokens` is meant. `reader` reads
    messages by rules, each once a job. `instructions` are the host's for this one summary; a summariser that
    works by rules follows none.
    """

    tenant: str
    language: str
    max_tokens: int
    count: Callable[[str], int]
    reader: Reader = field(default_factory=Reader)
    instructions: str = ""


PROSE: Final = ("session_intent",)
"""What a summariser's merge may write; all else is merged by code."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A summary of a part of the conversation, what it cost (nothing when memoised), and which part it is."""

    summary: Summary
    usage: Usage = field(default_factory=Usage)
    label: str = ""


class Summariser(Protocol):
    """Makes summaries of chunks and merges them. One instance serves all jobs of a process, on one event
    loop.

    `fingerprint` names whatever changes its results (prompts, model, schema): memos are kept under it.
    `window` is how many tokens one call may hold; a chunk fills at most half of it.
    """

    @property
    def name(self) -> str:
        """The name that policies and records use."""

    @property
    def model(self) -> str:
        """The provider's model, "" when there is none."""

    @property
    def fingerprint(self) -> str:
        """The digest of prompts and model."""

    @property
    def window(self) -> int:
        """Tokens that one call may hold, input and output together."""

    async def map(self, chunk: Chunk, terms: Terms) -> Partial:
        """Return the summary of one chunk. Raises SummariserFault, also for a summary that says nothing."""

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Return a summary whose prose stands for the base, if there is one, and the parts, in that order.

        Only its prose is used: lists are merged by code. Raises SummariserFault.
        """

    async def close(self) -> None:
        """Close connections."""


def signature(summariser: Summariser) -> SummariserName:
    """Return what a record says of its summariser."""
    return SummariserName(name=summariser.name, model=summariser.model, fingerprint=summariser.fingerprint)


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of usages."""
    sums = dict.fromkeys(Usage.model_fields, 0)
    for usage in usages:
        for name in sums:
            sums[name] += getattr(usage, name)
    return Usage(**sums)
