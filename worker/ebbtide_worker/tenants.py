"""What this process knows of its jobs' tenants: their policies, read now and then."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from ebbtide_core.contract.tenant import REFRESH_SECONDS, TenantPolicy
from ebbtide_core.errors import EbbtideError
from ebbtide_core.store import tenant_calls
from ebbtide_core.store.script import Call
from ebbtide_worker.patience import Store

log = logging.getLogger("ebbtide.worker")

MAX_TENANTS: Final = 1_000
"""Tenants that are remembered; the one asked for longest ago is forgotten first."""


@dataclass
class _Known:
    """A policy as last read, None when there was none, and when (clock time) to read it again."""

    policy: TenantPolicy | None = None
    due: float = float("-inf")
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class Tenants:
    """The tenants' policies. Belongs to one event loop.

    Each is read at most every `REFRESH_SECONDS`, as is the one for tenants that have none of their own. While
    the store is away what was read last holds, and before anything was read `TenantPolicy()`.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._tenants: OrderedDict[str, _Known] = OrderedDict()
        self._default = _Known()

    async def of(self, tenant: str) -> TenantPolicy:
        """Return a tenant's policy. Never raises for a fault of the store."""
        own = await self._fresh(self._remembered(tenant), tenant_calls.policy_get(tenant))
        if own is not None:
            return own
        return await self._fresh(self._default, tenant_calls.default_get()) or TenantPolicy()

    def _remembered(self, tenant: str) -> _Known:
        known = self._tenants.setdefault(tenant, _Known())
        self._tenants.move_to_end(tenant)
        if len(self._tenants) > MAX_TENANTS:
            self._tenants.popitem(last=False)
        return known

    async def _fresh(self, known: _Known, call: Call[TenantPolicy | None]) -> TenantPolicy | None:
        async with known.reading:
            if self._clock() >= known.due:
                known.due = self._clock() + REFRESH_SECONDS
                try:
                    known.policy = await self._store.run(call)
                except EbbtideError as error:
                    log.warning("a tenant's policy was not read, the one read before holds: %s", error)
        return known.policy
