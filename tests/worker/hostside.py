"""What a host does before a worker is needed: read, cut, claim, upload, enqueue. The real parts, without a
pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ebbtide.courier import Courier
from ebbtide.turns.memory import Mailbox
from ebbtide.turns.order import Order
from ebbtide.turns.standing import Standing
from ebbtide_core.budget.measure import Parts
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import Urgency
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import Buffer, read
from ebbtide_core.metrics import NullRecorder
from ebbtide_core.names import Owner
from ebbtide_core.policy import Policy, limits
from ebbtide_core.store import blob_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.codec import PLAIN, Codec, unseal
from ebbtide_core.store.results import ClaimStatus, SessionView
from ebbtide_core.swap import apply

MODEL = "gpt-test"


@dataclass
class FakePermits:
    """Counts permits instead of sending them."""

    sent: int = 0

    def send(self, number: int = 1) -> None:
        """Count."""
        self.sent += number

    def waiting(self) -> int:
        """None lie anywhere."""
        return 0

    def close(self) -> None:
        """Nothing to close."""


def small_policy(**given: Any) -> Policy:
    """A policy for windows of a few thousand tokens."""
    return Policy(**{"keep_recent_tokens": 200, "min_new_tokens": 1, "soft": 0.3, **given})


@dataclass
class HostSide:
    """One session of a host on the store under test."""

    store: SyncStore
    owner: Owner = field(default_factory=lambda: Owner.of("acme", "chat-42"))
    policy: Policy = field(default_factory=small_policy)
    window: int = 4_000
    dialect: str = "openai"
    codec: Codec = PLAIN
    permits: FakePermits = field(default_factory=FakePermits)
    seqs: Any = field(default_factory=lambda: count(1))

    def turn(self) -> SessionView:
        """Count a turn and return the session's state."""
        return self.store.run(
            session_calls.turn(
                self.owner,
                host="h",
                seq=next(self.seqs),
                fresh_incarnation="life-1",
                model=MODEL,
                state_ttl=600.0,
                breaker_cooldown=self.policy.breaker_cooldown,
            )
        )

    def order(self, messages: Sequence[Any], **given: Any) -> Order:
        """Return the order that a turn over these messages hands to the background."""
        state = self.turn()
        standing = self.standing(messages)
        cut = standing.cut
        assert cut is not None, "the conversation is too short to be cut"
        defaults: dict[str, Any] = {
            "owner": self.owner,
            "incarnation": state.incarnation,
            "generation": state.generation,
            "buffer": standing.buffer,
            "cut": cut,
            "figures": standing.figures(cut),
            "policy": self.policy,
            "model": MODEL,
            "counts": standing.sizes.each(),
            "urgency": Urgency.LO,
            "new_tokens": standing.new_tokens(state),
            "min_new_tokens": 1,
        }
        return Order(**{**defaults, **given})

    def standing(self, messages: Sequence[Any]) -> Standing:
        """Return where the messages stand."""
        dialect = by_name(self.dialect)
        buffer = self.read(messages)
        return Standing(
            buffer=buffer,
            parts=Parts(max_tokens=100),
            limits=limits(self.policy, self.window, 100),
            sizes=Sizes(Meter(tokenizer(), dialect), buffer),
            ratio=1.0,
        )

    def read(self, messages: Sequence[Any]) -> Buffer:
        """Read messages."""
        return read(list(messages), by_name(self.dialect))

    def enqueue(self, messages: Sequence[Any], **given: Any) -> Order:
        """Have a compaction of these messages claimed, uploaded and enqueued."""
        order = self.order(messages, **given)
        mailbox = Mailbox()
        courier = Courier(self.store, self.permits, NullRecorder(), self.codec)
        assert courier.submit(order, mailbox)
        assert courier.flush(10.0)
        assert (mailbox.claim, mailbox.faults()) == (ClaimStatus.OWN, ())
        return order

    def record(self, version: int) -> SummaryRecord:
        """Return a published record."""
        sealed = self.store.run(blob_calls.record_get(self.owner, version))
        assert sealed is not None, f"version {version} is not in the store"
        return SummaryRecord.from_json(unseal(self.codec, self.owner.tenant, sealed))

    def swapped(self, messages: Sequence[Any], record: SummaryRecord) -> list[Any]:
        """Return the messages with a record swapped in."""
        return list(apply(record, self.read(messages)).messages)
