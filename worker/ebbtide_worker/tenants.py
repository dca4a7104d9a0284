"""What this process knows of its jobs' tenants: their policies, read now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from ebbtide_core.contract.tenant import REFRESH_SECONDS, TenantPolicy
from ebbtide_core.errors import EbbtideError
from ebbtide_core.recent import Recent
from ebbtide_core.store import tenant_calls
from ebbtide_core.store.script import Call
from ebbtide_worker.patience import Store

log = logging.getLogger("ebbtide.worker")

MAX_TENANTS: Final = 10_000
"""Tenants that are remembered; the one asked for longest ago is forgotten first."""


@dataclass
class _Known:
    """A policy as last read, None when there was none, whether it was ever read, and when (clock time) to
    read it again.
    """

    policy: TenantPolicy | None = None
    read: bool = False
    due: float = float("-inf")
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class Tenants:
    """The tenants' policies. Belongs to one event loop.

    Each is read at most every `REFRESH_SECONDS`, as is the one for tenants that have none of their own. While
    the store is away what was read last holds; what was never read is asked for each time.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._tenants: Recent[str, _Known] = Recent(MAX_TENANTS, _Known)
        self._default = _Known()

    async def of(self, tenant: str) -> TenantPolicy:
        """Return a tenant's policy, `TenantPolicy()` when it was never read. Never raises for a fault of the
        store.
        """
        try:
            return await self.sure(tenant, self._store)
        except EbbtideError as error:
            log.warning("a tenant's policy was not read, nothing is known of it: %s", error)
            return TenantPolicy()

    async def sure(self, tenant: str, store: Store) -> TenantPolicy:
        """Return a tenant's policy, for what must not be done by another's: its content goes to its own route
        alone. What was never read is asked of `store`; raises what that raises, ContractError for a damaged
        policy.
        """
        own = await self._fresh(self._tenants[tenant], tenant_calls.policy_get(tenant), store)
        if own is not None:
            return own
        return await self._fresh(self._default, tenant_calls.default_get(), store) or TenantPolicy()

    async def _fresh(
        self, known: _Known, call: Call[TenantPolicy | None], first: Store
    ) -> TenantPolicy | None:
        async with known.reading:
            if self._clock() < known.due:
                return known.policy
            try:
                known.policy = await (self._store if known.read else first).run(call)
            except EbbtideError as error:
                if not known.read:
                    raise
                log.warning("a tenant's policy was not read, the one read before holds: %s", error)
            known.read, known.due = True, self._clock() + REFRESH_SECONDS
            return known.policy
