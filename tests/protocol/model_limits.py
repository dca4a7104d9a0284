"""What tenants may have and what was paid for them, in plain Python: figures as the index keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ebbtide_core.contract.tenant import Refusal
from ebbtide_core.policy import Mode
from ebbtide_core.store.fleet_calls import MICROS

if TYPE_CHECKING:
    from ebbtide_core.contract.tenant import TenantPolicy
    from ebbtide_core.store.fleet_calls import Paid

DAY: Final = 86_400
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A tenant's figures, None for no limit. `micros`: millionths of a dollar."""

    mode: Mode = Mode.ON
    concurrency: int | None = None
    weight: int = 1
    pending: int | None = None
    tokens: int | None = None
    micros: int | None = None

    @classmethod
    def of(cls, policy: TenantPolicy) -> Limits:
        """Return what the index keeps of a policy."""
        spend = None if policy.spend_a_day is None else round(policy.spend_a_day * MICROS)
        return cls(
            policy.mode, policy.concurrency, policy.weight, policy.max_pending, policy.tokens_a_day, spend
        )

    def used_up(self, bill: Bill) -> Refusal | None:
        """Say which budget of the day is used up."""
        if self.tokens is not None and bill.tokens >= self.tokens:
            return Refusal.TOKENS_A_DAY
        if self.micros is not None and bill.micros >= self.micros:
            return Refusal.SPEND_A_DAY
        return None


@dataclass(frozen=True, slots=True)
class Bill:
    """What was paid for a tenant on a day, counted since the epoch."""

    day: int
    tokens: int = 0
    micros: int = 0

    def plus(self, paid: Paid) -> Bill:
        """Return the bill with more on it."""
        return Bill(self.day, self.tokens + paid.tokens, self.micros + round(paid.dollars * MICROS))


def day_of(now: float) -> int:
    """Return the day of a time in seconds."""
    return int(now // DAY)
