"""A session of the store under test, driven with few words."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from ebbtide_core.breaker import Breaker, BreakerState, Outcome
from ebbtide_core.contract.job import After, Urgency
from ebbtide_core.contract.record import RecordHeader
from ebbtide_core.lineage.chain import Position
from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls as calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ebbtide_core.policy import Mode
    from ebbtide_core.store.client import SyncStore
    from ebbtide_core.store.results import (
        CancelResult,
        ClaimResult,
        GuardStatus,
        PublishResult,
        SessionView,
        StateView,
    )

TTL = 600.0
LEASE = 30.0
COOLDOWN = 5
FAILURES = 3
NONE = After(number=0, body="")


def at(count: int, history: str = "a") -> Position:
    """Return the position after `count` messages of a history."""
    return Position(count, f"{history}{count}".encode().ljust(16, b".")[:16])


@dataclass
class Driver:
    """Runs the session scripts with defaults; keyword arguments override them."""

    store: SyncStore
    owner: Owner = field(default_factory=lambda: Owner.of("acme", "chat-42"))
    seqs: Iterator[int] = field(default_factory=lambda: count(1))

    def turn(self, **given: Any) -> SessionView:
        """Call `turn`; without `seq`, as a new turn of host `h`."""
        seq = given.pop("seq", None) or next(self.seqs)
        defaults = {"host": "h", "fresh_incarnation": "life-1", "model": "m", "state_ttl": TTL}
        return self.store.run(
            calls.turn(self.owner, **{**defaults, "seq": seq, "breaker_cooldown": COOLDOWN, **given})
        )

    def turns(self, n: int) -> SessionView:
        """Call `turn` n times and return the last view."""
        return [self.turn() for _ in range(n)][-1]

    def fork(self, generation: int = 0, incarnation: str = "life-1") -> int | None:
        """Call `fork`."""
        return self.store.run(
            calls.fork(
                self.owner, incarnation=incarnation, generation=generation, state_ttl=TTL, cooldown=COOLDOWN
            )
        )

    def reset(self) -> int:
        """Call `reset`."""
        return self.store.run(calls.reset(self.owner, fresh_incarnation="life-1", state_ttl=TTL))

    def claim(self, count: int = 10, **given: Any) -> ClaimResult:
        """Call `claim` for the position after `count` messages."""
        defaults = {
            "incarnation": "life-1",
            "generation": 0,
            "job_id": f"job-{count}",
            "position": at(count),
            "new_tokens": 100,
            "min_new_tokens": 10,
            "waits": 0,
            "urgency": Urgency.LO,
            "lease": LEASE,
            "state_ttl": TTL,
        }
        return self.store.run(calls.claim(self.owner, **{**defaults, **given}))

    def queued(self, count: int = 10, epoch: int = 1, lease: float = LEASE) -> bool:
        """Call `queued`."""
        return self.store.run(calls.queued(self.owner, job_id=f"job-{count}", epoch=epoch, lease=lease))

    def guard(self, count: int = 10, epoch: int = 1, attempt: int = 0, **given: Any) -> GuardStatus:
        """Call `guard` for an attempt."""
        defaults = {"incarnation": "life-1", "generation": 0, "after": NONE, "lease": LEASE}
        job = {"job_id": f"job-{count}", "epoch": epoch, "attempt": attempt}
        return self.store.run(calls.guard(self.owner, **{**defaults, **job, **given}))

    def publish(self, count: int = 10, after: After = NONE, body: str = "", **given: Any) -> PublishResult:
        """Call `publish` for a record at the position after `count` messages."""
        header = RecordHeader(
            version=after.number + 1,
            generation=given.pop("generation", 0),
            position=given.pop("position", at(count)),
            body=body or f"body-{count}",
        )
        defaults = {"record_bytes": b"\x00\xffrecord", "incarnation": "life-1", "kept": 5, "state_ttl": TTL}
        return self.store.run(calls.publish(self.owner, header=header, after=after, **{**defaults, **given}))

    def settle(
        self, outcome: Outcome, count: int = 10, epoch: int = 1, attempt: int = 0, **given: Any
    ) -> bool:
        """Call `settle` for an attempt."""
        defaults = {"incarnation": "life-1", "generation": 0, "breaker_failures": FAILURES, "state_ttl": TTL}
        job = {"job_id": f"job-{count}", "epoch": epoch, "attempt": attempt, "outcome": outcome}
        return self.store.run(calls.settle(self.owner, **{**defaults, **job, **given}))

    def cancel(self) -> CancelResult:
        """Call `cancel`."""
        return self.store.run(calls.cancel(self.owner, state_ttl=TTL))

    def requeued(self, count: int = 10, epoch: int = 1, attempt: int = 0, lease: float = LEASE) -> bool:
        """Call `requeued` for an attempt."""
        job_id = f"job-{count}"
        return self.store.run(
            calls.requeued(self.owner, job_id=job_id, epoch=epoch, attempt=attempt, lease=lease)
        )

    def breaker_reset(self) -> bool:
        """Call `breaker_reset`."""
        return self.store.run(calls.breaker_reset(self.owner))

    def set_mode(self, mode: Mode | None) -> bool:
        """Call `set_mode`."""
        return self.store.run(calls.set_mode(self.owner, mode))

    def look(self) -> StateView:
        """Call `look` for a session that has a state."""
        seen = self.store.run(calls.look(self.owner))
        assert seen is not None
        return seen

    def withdraw(self, version: int) -> bool:
        """Call `withdraw`."""
        return self.store.run(calls.withdraw(self.owner, version))

    def fail(self, times: int, first_epoch: int = 1) -> None:
        """Claim and settle as failure, `times` times."""
        for epoch in range(first_epoch, first_epoch + times):
            assert self.claim().epoch == epoch
            assert self.settle(Outcome.FAILURE, epoch=epoch)


def stored_breaker(raw: dict[bytes, bytes]) -> Breaker:
    """Return the breaker that a state hash holds."""
    return Breaker(
        BreakerState(raw.get(b"brk_state", b"closed").decode()),
        int(raw.get(b"brk_failures", 0)),
        int(raw.get(b"brk_turns", 0)),
        int(raw.get(b"brk_probe", 0)),
        int(raw[b"brk_opened"]) / 1000 if b"brk_opened" in raw else None,
    )
