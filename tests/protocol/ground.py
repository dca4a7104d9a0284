"""What the hosts and workers of one test stand on: a store, a broker's permits, uploads, and the truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ebbtide_core.breaker import Outcome
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls, session_calls
from tests.protocol import invariants
from tests.protocol.conversation import Message, SummaryMessage

if TYPE_CHECKING:
    from ebbtide_core.contract.job import Job
    from ebbtide_core.contract.record import RecordHeader
    from ebbtide_core.lineage.chain import Position
    from tests.protocol.stores import Store

SOFT: Final = 6
HARD: Final = 9
KEEP: Final = 2
MIN_NEW: Final = 2
RECORDS_KEPT: Final = 3
"""Sizes in tokens, and a number of records: so small that few messages reach every border."""

CLAIM_LEASE: Final = 30.0
MAX_QUEUE_AGE: Final = 120.0
TICK: Final = 5.0
QUEUE_LEASE: Final = MAX_QUEUE_AGE + TICK
RUNNING_LEASE: Final = 30.0
GUARD_LEASE: Final = RUNNING_LEASE + 2 * TICK
STATE_TTL: Final = 7 * 86_400.0
"""Seconds on the server's clock, the defaults."""

COOLDOWN: Final = 5
FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class Manifest:
    """A job's input: the base, and the messages from there to the position."""

    base: SummaryMessage | None
    messages: tuple[Message, ...]
    position: Position

    @property
    def covers(self) -> tuple[Message, ...]:
        """All that a faithful record of this job stands for."""
        return (self.base.covers if self.base else ()) + self.messages


@dataclass(slots=True)
class Ledger:
    """The truth, which no fault touches: what each manifest held and what each record's body stands for."""

    manifests: dict[str, Manifest] = field(default_factory=dict)
    covers: dict[str, tuple[Message, ...]] = field(default_factory=dict)

    def describe(self, manifest: Manifest) -> str:
        """Note a manifest and return its name."""
        base = manifest.base.body if manifest.base else "nothing"
        name = f"{base}-{manifest.position}"
        self.manifests[name] = manifest
        return name

    def summary(self, header: RecordHeader) -> SummaryMessage:
        """Return the summary message that a record's header stands for."""
        return SummaryMessage(header.version, header.body, header.position, self.covers[header.body])


@dataclass(slots=True)
class Ground:
    """`permits`: messages in the broker. `uploads`: manifests there. `memos`: chunks paid, good or bad."""

    store: Store
    owner: Owner
    ledger: Ledger = field(default_factory=Ledger)
    permits: int = 0
    uploads: set[str] = field(default_factory=set)
    memos: dict[tuple[Message, ...], bool] = field(default_factory=dict)
    numbers: int = 0

    def number(self) -> int:
        """Return a number never given before."""
        self.numbers += 1
        return self.numbers

    def fresh_incarnation(self) -> str:
        """Return a name for a new life of the state."""
        return f"incarnation-{self.number()}"

    def kept_summaries(self) -> list[SummaryMessage]:
        """Return the kept records that are not withdrawn and whose bodies are there."""
        state = self.store.state(self.owner)
        return [
            self.ledger.summary(h)
            for h in (state.headers if state else ())
            if not h.withdrawn and self.has_body(h)
        ]

    def has_body(self, header: RecordHeader) -> bool:
        """Say whether the record that a header names can be read."""
        return self.store.run(blob_calls.record_get, self.owner, header.version) == header.body.encode()

    def requeued(self, job: Job) -> None:
        """Tell the session of a job that was handed back, and send a permit for it."""
        self.store.run(
            session_calls.requeued,
            job.owner,
            job_id=job.job_id,
            epoch=job.epoch,
            attempt=job.attempt,
            lease=QUEUE_LEASE,
        )
        self.permits += 1

    def settle(self, job: Job, outcome: Outcome) -> bool:
        """Settle an attempt of a job; one that is not heard must change nothing."""
        before = self.store.state(job.owner)
        heard = self.store.run(
            session_calls.settle,
            job.owner,
            incarnation=job.incarnation,
            generation=job.generation,
            job_id=job.job_id,
            epoch=job.epoch,
            attempt=job.attempt,
            outcome=outcome,
            breaker_failures=FAILURES,
            state_ttl=STATE_TTL,
        )
        if heard:
            invariants.holder_settled(before, job)
        else:
            invariants.refusal_changed_nothing("settle", before, self.store.state(job.owner))
        return heard
