"""What the fleet's keys hold, in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ebbtide_core.contract.job import Urgency
from ebbtide_core.names import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ebbtide_core.contract.job import Job
    from ebbtide_core.store.results import DeadLetter
    from tests.protocol.model_limits import Bill, Limits

Attempt = tuple[str, str, int, int, int]
"""Member, encoded incarnation, generation, epoch, attempt."""


@dataclass(slots=True)
class Ready:
    """A job that waits. `served`, `order`: serials of the session's last take, and of this put. `handed`: how
    many of its attempts were handed back.
    """

    job: Job
    since: float
    served: int
    order: int
    handed: int = 0


@dataclass(slots=True)
class Running:
    """A job with a worker since `taken`, until its lease runs out (seconds). It had `served`, `order` and
    `handed` as it waited; `turn` is the serial that its tenant was ordered by.
    """

    job: Job
    worker: str
    until: float
    taken: float
    served: int
    order: int
    handed: int
    turn: int


@dataclass(slots=True)
class Index:
    """What the fleet's keys hold: at most one ready job a session, any number of running attempts.

    Serials rise with each put and each take. `waiting`: tenants with ready jobs, and the serial to
    order them by. `tenants`, `sessions`: serials of their last takes. `load`: running attempts by tenant.
    `credit`: jobs that a tenant may still take in the turn that it has begun. `bills`: what was paid for it;
    those of days other than `day` were forgotten. `dead`: letters by job.
    """

    ready: dict[str, Ready] = field(default_factory=dict)
    running: dict[Attempt, Running] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    tenants: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    load: Counter[str] = field(default_factory=Counter)
    serial: int = 0
    maintainer: str | None = None
    limits: dict[str, Limits] = field(default_factory=dict)
    bills: dict[str, Bill] = field(default_factory=dict)
    credit: dict[str, int] = field(default_factory=dict)
    dead: dict[str, DeadLetter] = field(default_factory=dict)
    day: int = 0

    def copy(self) -> Index:
        """Return an index of its own."""
        return Index(
            {member: replace(ready) for member, ready in self.ready.items()},
            {attempt: replace(running) for attempt, running in self.running.items()},
            dict(self.waiting),
            dict(self.tenants),
            dict(self.sessions),
            self.load.copy(),
            self.serial,
            self.maintainer,
            dict(self.limits),
            dict(self.bills),
            dict(self.credit),
            dict(self.dead),
            self.day,
        )


def attempt_of(job: Job) -> Attempt:
    """Return the name of a job's attempt."""
    return job.owner.member, encoded(job.incarnation), job.generation, job.epoch, job.attempt


def place_of(ready: Ready) -> str:
    """Return what the ready jobs are ordered by: the tenant, and within it who is served first."""
    tenant, session = ready.job.owner.member.split("/")
    rank = 0 if ready.job.urgency is Urgency.HI else 1
    return f"{tenant}/{rank}/{ready.served:016}/{ready.order:016}/{session}"


def age(job: Job) -> tuple[int, int, int]:
    """Return what orders the attempts of one life of a session."""
    return job.generation, job.epoch, job.attempt


def in_order_of_lease(running: Iterable[tuple[Attempt, Running]]) -> list[Attempt]:
    """Return attempts as the server lists them: by the end of the lease, then by name."""
    return [a for _, _, a in sorted((r.until, " ".join(map(str, a)), a) for a, r in running)]
