"""What a pool knows of its tenants: policies and blocks, read now and then, never on a turn's path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from ebbtide.errand import Errand
from ebbtide_core.contract.tenant import REFRESH_SECONDS, TenantPolicy, TenantStanding
from ebbtide_core.forking import ForkSafeLock
from ebbtide_core.recent import Recent
from ebbtide_core.store import tenant_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.tenant_calls import StandingRead

MAX_TENANTS: Final = 10_000
"""Tenants that are remembered; the one asked for longest ago is forgotten first."""


class Runner(Protocol):
    """Carries errands out in the background."""

    def run(self, errand: Errand) -> bool:
        """Take an errand; False when it can't be carried out now."""


@dataclass(slots=True)
class _Known:
    """What was read last of a tenant and when, and when to read it again (clock times)."""

    read: StandingRead | None = None
    at: float = 0.0
    due: float = float("-inf")


class Tenants:
    """The tenants of a pool's sessions.

    Each is read at most every `REFRESH_SECONDS` while it is asked for, as is the policy of those that have
    none of their own. What was read last holds while the store is away; before anything was read, nothing
    is limited. `clock` tells seconds of a monotonic clock.
    """

    def __init__(self, runner: Runner, clock: Callable[[], float]) -> None:
        self._runner = runner
        self._clock = clock
        self._lock = ForkSafeLock()
        self._tenants: Recent[str, _Known] = Recent(MAX_TENANTS, _Known)
        self._default = TenantPolicy()
        self._default_due = float("-inf")

    def of(self, tenant: str) -> TenantStanding:
        """Return what is known of a tenant now, and begin to read it anew when that is due."""
        self.refresh(tenant)
        return self.known(tenant)

    def refresh(self, tenant: str) -> None:
        """Begin to read a tenant anew when that is due."""
        now = self._clock()
        with self._lock:
            known = self._tenants[tenant]
            if now >= known.due and self._runner.run(self._errand(tenant, known)):
                known.due = now + REFRESH_SECONDS

    def known(self, tenant: str) -> TenantStanding:
        """Return what is known of a tenant now."""
        now = self._clock()
        with self._lock:
            known = self._tenants[tenant]
            read, left = known.read or StandingRead(), 0.0
            if read.block is not None:
                left = max(0.0, known.at + read.block_seconds - now)
            policy = self._default if read.policy is None else read.policy
        return TenantStanding(policy=policy, block=read.block if left else None, block_seconds=left)

    def _errand(self, tenant: str, known: _Known) -> Errand:
        def read(store: SyncStore) -> None:
            asked = self._clock()
            found = store.run(tenant_calls.standing(tenant))
            with self._lock:
                known.read, known.at = found, asked
            if found.policy is None:
                self._read_default(store)

        return Errand("tenant", read)

    def _read_default(self, store: SyncStore) -> None:
        """Read the policy of tenants that have none; one that was never applied limits nothing."""
        now = self._clock()
        if now < self._default_due:
            return
        self._default_due = now + REFRESH_SECONDS
        self._default = store.run(tenant_calls.default_get()) or TenantPolicy()
