"""The protocol of a summariser: what it is shown, what it returns, how it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from ebbtide_core.contract.record import SummariserName, Usage
from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.errors import EbbtideError
from ebbtide_core.summary.extract import Reader
from ebbtide_core.summary.model import Summary
from ebbtide_core.summary.source import SourceMessage


class FaultKind(StrEnum):
    """Why a summariser's call gave nothing usable.

    The provider's trouble: RATE_LIMITED; OVERLOADED (it has too much to do); UNAVAILABLE (any other 5xx);
    TIMEOUT; CONNECTION (no response, or half of one); UNREADABLE (a response that is no answer of the API).
    The account's: AUTH, SPEND_LIMIT; of what is asked of it: FORBIDDEN (the key lacks a right), NOT_FOUND (no
    such model or endpoint). No call was made: BLOCKED (the
    account's breaker or block), BUDGET (the tenant has used up its day). What the call was shown: TOO_LONG
    (more tokens than the window), TOO_LARGE (more bytes than the API takes), BAD_REQUEST. What was answered:
    REFUSED, TRUNCATED, EMPTY, NOT_JSON, SCHEMA, TOOL_CALL, UNEXPECTED.
    """

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    UNREADABLE = "unreadable"
    AUTH = "auth"
    SPEND_LIMIT = "spend_limit"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    BLOCKED = "blocked"
    BUDGET = "budget"
    TOO_LONG = "too_long"
    TOO_LARGE = "too_large"
    BAD_REQUEST = "bad_request"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    NOT_JSON = "not_json"
    SCHEMA = "schema"
    TOOL_CALL = "tool_call"
    UNEXPECTED = "unexpected"


PROVIDER_DOWN: Final = frozenset(
    {
        FaultKind.RATE_LIMITED,
        FaultKind.OVERLOADED,
        FaultKind.UNAVAILABLE,
        FaultKind.TIMEOUT,
        FaultKind.CONNECTION,
        FaultKind.UNREADABLE,
    }
)
"""Kinds that say something about the provider, and may be gone a moment later."""

ACCOUNT: Final = frozenset({FaultKind.AUTH, FaultKind.SPEND_LIMIT, FaultKind.FORBIDDEN, FaultKind.NOT_FOUND})
"""Kinds that say something about the account and its settings, and stay until somebody changes them."""

UNREAD: Final = PROVIDER_DOWN | ACCOUNT | {FaultKind.BLOCKED, FaultKind.BUDGET}
"""Kinds that say nothing about what the call was shown, nor about the session: they settle neutral."""


class SummariserFault(EbbtideError):
    """A call gave nothing usable. `detail` is for people and holds neither content nor secrets.

    `usage` is what the provider charged for the call all the same; `uncertain`: it may have charged for more
    than it told, since no answer came. `retry_after` is for how many seconds the provider, or the account's
    limiter, wants to be left alone. `block` says why the tenant's account can't be used now. `ramp`,
    of RATE_LIMITED: not the use is too high, it rises too fast.
    """

    def __init__(
        self,
        kind: FaultKind,
        detail: str = "",
        usage: Usage | None = None,
        *,
        retry_after: float | None = None,
        uncertain: bool = False,
        block: BlockReason | None = None,
        ramp: bool = False,
    ) -> None:
        self.kind = kind
        self.detail = detail
        self.usage = usage or Usage()
        self.retry_after = retry_after
        self.uncertain = uncertain
        self.block = block
        self.ramp = ramp
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
