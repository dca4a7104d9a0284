"""All settings of a session with their defaults, and what they come to for one window."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ebbtide_core.contract.manifest import PolicyDocument
from ebbtide_core.economy.rates import Rates
from ebbtide_core.jsonio import digest

MAX_MESSAGE_BYTES: Final = 32 << 20
MAX_BUFFER_MESSAGES: Final = 100_000
IMAGE_TOKENS: Final = 1_500
DOCUMENT_TOKENS: Final = 3_000
SWAP_RATIO: Final = 0.85
"""The default, which goes with any watermarks."""


class Mode(StrEnum):
    """off: the session is only measured. shadow: jobs and reports, no swap and no degraded view. on: all of
    it."""

    OFF = "off"
    SHADOW = "shadow"
    ON = "on"


def most_cautious(*modes: Mode) -> Mode:
    """Return the one of several modes that does least."""
    return min(modes, key=_CAUTION.__getitem__)


_CAUTION: Final = {Mode.OFF: 0, Mode.SHADOW: 1, Mode.ON: 2}


class Policy(BaseModel):
    """Settings of a session. Ratios are shares of the context window; None means the documented default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    soft: float = Field(default=0.70, gt=0, le=1, description="watermark that enqueues a compaction")
    hard: float = Field(default=0.95, gt=0, le=1, description="watermark that no request may pass")
    swap_ratio: float = Field(
        default=SWAP_RATIO, gt=0, le=1, description="share from which a ready record is always swapped in"
    )
    rates: Rates | None = Field(
        default=None, description="prices that decide when a swap pays; those known of the model"
    )
    keep_recent_tokens: int | None = Field(
        default=None, ge=0, description="tail kept as it is; min(20,000, 10 %)"
    )
    keep_recent_messages: int = Field(
        default=4, ge=1, description="messages kept as they are, as far as they fit"
    )
    min_turns_between_swaps: int = Field(
        default=5, ge=0, description="turns from one swap to the next, below hard"
    )
    prune_min_tokens: int = Field(
        default=2_000, ge=0, description="superseded results are left out only if that saves so much"
    )
    superseding: Mapping[str, tuple[str, ...]] | None = Field(
        default=None, description="arguments by tool that make two calls alike; empty: none ever are"
    )
    min_new_tokens: int | None = Field(default=None, ge=0, description="least worth a job; min(8,000, 10 %)")
    max_tokens: int | None = Field(default=None, gt=0, description="output when not given; min(4,096, 25 %)")
    summary_max_tokens: int | None = Field(
        default=None, gt=0, description="size of a summary; min(4,096, 10 %)"
    )
    chunk_tokens: int = Field(default=48_000, gt=0, description="source tokens of one summariser call")
    io_budget: float = Field(default=0.25, gt=0, description="seconds of store I/O that one prepare may take")
    wait_budget: float = Field(
        default=10.0, ge=0, description="seconds that turns at hard may wait for one record"
    )
    claim_lease: float = Field(default=30.0, gt=0, description="seconds from claim to enqueue")
    running_lease: float = Field(default=30.0, gt=0, description="seconds a worker's job lives unrenewed")
    max_queue_age: float = Field(default=120.0, gt=0, description="seconds a job may wait for a worker")
    job_deadline: float = Field(default=300.0, gt=0, description="seconds a job may take")
    tick: float = Field(default=5.0, gt=0, description="seconds between maintenance ticks")
    breaker_failures: int = Field(default=3, ge=1, description="failures in a row that open the breaker")
    breaker_cooldown: int = Field(default=5, ge=1, description="counted turns before a probe")
    breaker_cooldown_seconds: float | None = Field(
        default=None, gt=0, description="seconds before a probe, whichever comes first; none: turns alone"
    )
    records_kept: int = Field(default=5, ge=1, description="newest records kept")
    review_kept: int = Field(default=100, ge=1, description="degraded turns listed for review")
    state_ttl: float = Field(
        default=7 * 86_400.0, gt=0, description="seconds that state and records live untouched"
    )
    upload_ttl: float = Field(
        default=86_400.0, gt=0, description="seconds that segments, manifests, memos live"
    )
    segment_bytes: int = Field(default=256 << 10, gt=0, description="canonical JSON of one uploaded segment")
    summariser: str = Field(default="", description="summariser to use; empty: the worker's default")
    language: str = Field(default="", description="language of the summary; empty: the session's own")
    mode: Mode = Field(
        default=Mode.ON, description="off, shadow or on; the most cautious of those asked for wins"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.soft >= self.hard:
            raise ValueError(f"soft ({self.soft}) must be below hard ({self.hard})")
        moved = self.swap_ratio != SWAP_RATIO
        if moved and not self.soft <= self.swap_ratio <= self.hard:
            raise ValueError(
                f"swap_ratio ({self.swap_ratio}) must lie within soft ({self.soft}) and hard ({self.hard})"
            )
        return self


def queue_lease(max_queue_age: float, tick: float) -> float:
    """Return the seconds for which a claim holds while its job waits in the index: as long as it may wait,
    and a tick, by which maintenance has settled it.
    """
    return max_queue_age + tick


class Limits(BaseModel):
    """A policy resolved for one window, in tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: int
    soft: int
    hard: int
    keep_recent_tokens: int
    keep_recent_messages: int
    min_new_tokens: int
    max_tokens: int
    summary_max_tokens: int


def limits(policy: Policy, window: int, max_tokens: int | None = None) -> Limits:
    """Return the policy's figures for a context window. `max_tokens` overrides the policy's."""

    def share(value: int | None, cap: int, part: float) -> int:
        return max(1, min(cap, int(window * part))) if value is None else value

    return Limits(
        window=window,
        soft=int(window * policy.soft),
        hard=int(window * policy.hard),
        keep_recent_tokens=share(policy.keep_recent_tokens, 20_000, 0.10),
        keep_recent_messages=policy.keep_recent_messages,
        min_new_tokens=share(policy.min_new_tokens, 8_000, 0.10),
        max_tokens=share(policy.max_tokens, 4_096, 0.25) if max_tokens is None else max_tokens,
        summary_max_tokens=share(policy.summary_max_tokens, 4_096, 0.10),
    )


def document(policy: Policy, window: int, instructions: str = "") -> PolicyDocument:
    """Return the fields of a policy that change a summary, with what the host asks of this one."""
    return PolicyDocument(
        chunk_tokens=policy.chunk_tokens,
        summary_max_tokens=limits(policy, window).summary_max_tokens,
        summariser=policy.summariser,
        language=policy.language,
        instructions=instructions,
    )


def fingerprint(doc: PolicyDocument) -> str:
    """Return the name of a policy document (32 hex digits)."""
    return digest(b"ebbtide/policy/1", doc.to_json()).hex()
