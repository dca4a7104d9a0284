"""What the store holds of tenants, as the command asks for it and writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ebbtide_cli.tenant.plan import Change, Kind, Stored
from ebbtide_core.contract.tenant import TenantPolicy
from ebbtide_core.errors import ContractError
from ebbtide_core.names import checked_name
from ebbtide_core.store import fleet_calls, tenant_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.fleet_calls import Spent
from ebbtide_core.store.tenant_calls import StandingRead


@dataclass(frozen=True, slots=True)
class Served:
    """A tenant: its own policy and block, the policy that holds, what was spent today, jobs by state."""

    tenant: str
    own: StandingRead
    policy: TenantPolicy
    spent: Spent
    ready: int
    running: int


@dataclass(frozen=True, slots=True)
class TenantDesk:
    """The tenants of a state store. All methods raise StoreUnavailable."""

    store: SyncStore

    def names(self) -> tuple[str, ...]:
        """Return the tenants that have a policy of their own, sorted."""
        return self.store.run(fleet_calls.tenants())

    def default(self) -> TenantPolicy | None:
        """Return the policy of tenants that have none of their own, None when none was applied."""
        return self.store.run(tenant_calls.default_get())

    def served(self, tenants: Sequence[str]) -> list[Served]:
        """Return what is known of tenants, in their order. Raises LimitError for what can be no name."""
        names = [checked_name(tenant, "tenant") for tenant in tenants]
        default = self.default() or TenantPolicy()
        owns = self.store.run_all([tenant_calls.standing(name) for name in names])
        spent = self.store.run_all([fleet_calls.spent(name) for name in names])
        jobs = self.store.run_all([fleet_calls.jobs(1, name) for name in names])
        return [
            Served(name, own, own.policy or default, paid, listed.ready, listed.running)
            for name, own, paid, listed in zip(names, owns, spent, jobs, strict=True)
        ]

    def stored(self, declared: Iterable[str]) -> Stored:
        """Return what is stored of all tenants that are declared now, or were before.

        A policy that can't be read, being damaged or of another contract, counts as none: applying mends it.
        """
        tenants = {*declared, *self.names()}
        try:
            default = self.default()
        except ContractError:
            default = None
        return Stored(default, {tenant: self._policy(tenant) for tenant in tenants})

    def _policy(self, tenant: str) -> TenantPolicy | None:
        try:
            return self.store.run(tenant_calls.policy_get(tenant))
        except ContractError:
            return None

    def apply(self, changes: Iterable[Change]) -> None:
        """Write what changes, each policy before its limits.

        Limits of what stays the same are written too, should an earlier run have been cut short between.
        """
        for change in changes:
            if change.after is None:
                self._remove(change.tenant)
            else:
                self._write(change.tenant, change.after, change.kind is not Kind.SAME)

    def _write(self, tenant: str | None, policy: TenantPolicy, changed: bool) -> None:
        if changed:
            default = tenant_calls.default_put(policy)
            self.store.run(default if tenant is None else tenant_calls.policy_put(tenant, policy))
        self.store.run(fleet_calls.limits_put(tenant, policy))

    def _remove(self, tenant: str | None) -> None:
        if tenant is None:
            self.store.run(tenant_calls.default_drop())
        else:
            self.store.run(tenant_calls.policy_drop(tenant))
        self.store.run(fleet_calls.limits_drop(tenant))

    def unblock(self, tenant: str) -> bool:
        """Lift a tenant's block; says whether there was one. Raises LimitError."""
        return self.store.run(tenant_calls.block_drop(checked_name(tenant, "tenant")))
