"""Every metric as data, and the recorder that hosts, workers and tests pass in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol


class Kind(StrEnum):
    """How a metric is kept."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"


SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
TOKENS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's name (unit last, Prometheus style), kind, label names, buckets, and one line of help."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


TURNS = Metric("ebbtide_turns_total", Kind.COUNTER, "Turns prepared.", ("action", "reason"))
TURN_SECONDS = Metric("ebbtide_turn_seconds", Kind.HISTOGRAM, "Seconds one prepare took.", (), SECONDS)
WAIT_SECONDS = Metric("ebbtide_wait_seconds", Kind.HISTOGRAM, "Seconds a turn at hard waited.", (), SECONDS)
PROJECTED = Metric("ebbtide_projected_tokens", Kind.HISTOGRAM, "Projected size of requests.", (), TOKENS)
DEGRADED = Metric("ebbtide_degraded_turns_total", Kind.COUNTER, "Turns sent with a smaller view.", ("rung",))
SWAPS = Metric("ebbtide_swaps_total", Kind.COUNTER, "Records swapped into buffers.")
CLAIMS = Metric("ebbtide_claims_total", Kind.COUNTER, "Answers to claims.", ("status",))
REFUSALS = Metric("ebbtide_refusals_total", Kind.COUNTER, "Jobs that were not admitted.", ("reason",))
HOST_FAULTS = Metric("ebbtide_host_faults_total", Kind.COUNTER, "Faults a host worked around.", ("where",))
JOBS = Metric("ebbtide_jobs_total", Kind.COUNTER, "Attempts ended.", ("outcome", "reason"))
JOB_SECONDS = Metric("ebbtide_job_seconds", Kind.HISTOGRAM, "Seconds of a job by phase.", ("phase",), SECONDS)
QUEUE_SECONDS = Metric(
    "ebbtide_queue_seconds", Kind.HISTOGRAM, "Seconds a job waited.", ("urgency",), SECONDS
)
CHUNKS = Metric("ebbtide_chunks_total", Kind.COUNTER, "Chunks by how they were done.", ("status",))
JOB_TOKENS = Metric(
    "ebbtide_summariser_tokens_total", Kind.COUNTER, "Summariser tokens paid.", ("direction",)
)
SUMMARISER_CALLS = Metric(
    "ebbtide_summariser_calls_total",
    Kind.COUNTER,
    "Calls of summarisers: ok, the kind of fault, or cancelled.",
    ("outcome",),
)
SUMMARISER_RETRIES = Metric(
    "ebbtide_summariser_retries_total",
    Kind.COUNTER,
    "What followed failed calls: again, shrink, next_hop, give.",
    ("step",),
)
SWEEPS = Metric("ebbtide_swept_jobs_total", Kind.COUNTER, "Jobs that maintenance acted on.", ("what",))
DEAD_LETTERS = Metric("ebbtide_dead_letters_total", Kind.COUNTER, "Jobs given up for good.", ("reason",))
PERMITS = Metric("ebbtide_permits_total", Kind.COUNTER, "Permits sent and received.", ("what",))
ACCOUNT_WAITS = Metric(
    "ebbtide_account_waits_seconds", Kind.HISTOGRAM, "Seconds a call waited for its account.", (), SECONDS
)
ACCOUNT_BLOCKED = Metric(
    "ebbtide_account_blocked_total", Kind.COUNTER, "Calls that an account had no place for.", ("reason",)
)
STORE_TRIPS = Metric(
    "ebbtide_store_round_trips_total", Kind.COUNTER, "Round trips to the state store.", ("script",)
)
STORE_BYTES = Metric(
    "ebbtide_store_bytes_total", Kind.COUNTER, "Bytes to and from the store, about.", ("script", "direction")
)

ALL = (
    TURNS, TURN_SECONDS, WAIT_SECONDS, PROJECTED, DEGRADED, SWAPS, CLAIMS, REFUSALS, HOST_FAULTS,
    JOBS, JOB_SECONDS, QUEUE_SECONDS, CHUNKS, JOB_TOKENS,
    SUMMARISER_CALLS, SUMMARISER_RETRIES, SWEEPS, DEAD_LETTERS, PERMITS,
    ACCOUNT_WAITS, ACCOUNT_BLOCKED, STORE_TRIPS, STORE_BYTES,
)  # fmt: skip
"""Every metric there is."""


class Recorder(Protocol):
    """Where figures go. Must never raise and never block."""

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Note one value of a histogram."""


class NullRecorder:
    """Records nothing."""

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Ignore it."""

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Ignore it."""


def _key(metric: Metric, labels: dict[str, str]) -> tuple[str, tuple[str, ...]]:
    return metric.name, tuple(labels[name] for name in metric.labels)


@dataclass
class MemoryRecorder:
    """Keeps figures in memory, for tests and for `ebbtide replay`."""

    counts: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    values: dict[tuple[str, tuple[str, ...]], list[float]] = field(default_factory=dict)

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        self.counts[_key(metric, labels)] += int(amount)

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Note one value of a histogram."""
        self.values.setdefault(_key(metric, labels), []).append(value)

    def total(self, metric: Metric, *labels: str) -> int:
        """Return a counter's sum over all series whose first labels are these."""
        return sum(
            n for (name, ls), n in self.counts.items() if name == metric.name and ls[: len(labels)] == labels
        )
