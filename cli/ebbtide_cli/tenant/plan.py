"""What applying a declaration changes, told before anything is written. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ebbtide_cli.tenant.document import Declaration
from ebbtide_core.contract.tenant import TenantPolicy


class Kind(StrEnum):
    """What becomes of a policy."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Change:
    """A tenant's policy before and after; `tenant` None: that of all tenants that are not named."""

    tenant: str | None
    before: TenantPolicy | None
    after: TenantPolicy | None

    @property
    def kind(self) -> Kind:
        """What becomes of it."""
        if self.before == self.after:
            return Kind.SAME
        if self.before is None:
            return Kind.ADDED
        return Kind.REMOVED if self.after is None else Kind.CHANGED

    def fields(self) -> dict[str, tuple[Any, Any]]:
        """Return each field that differs, before and after; beside no policy, the fields that are set."""
        before, after = (_plain(policy) for policy in (self.before, self.after))
        return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store holds: the default, and policies by tenant; None where there is none."""

    default: TenantPolicy | None
    tenants: Mapping[str, TenantPolicy | None]


def changes(declared: Declaration, stored: Stored, prune: bool) -> tuple[Change, ...]:
    """Return what becomes of each policy: the default first, then by name.

    With `prune`, what is stored and not declared is removed, else it stays and is not told of.
    """
    return tuple(_changes(declared, stored, prune))


def _changes(declared: Declaration, stored: Stored, prune: bool) -> Iterator[Change]:
    if declared.default is not None or (prune and stored.default is not None):
        yield Change(None, stored.default, declared.default)
    for tenant in sorted({*declared.tenants, *(stored.tenants if prune else ())}):
        yield Change(tenant, stored.tenants.get(tenant), declared.tenants.get(tenant))


def _plain(policy: TenantPolicy | None) -> dict[str, Any]:
    return (policy or _NOTHING_SET).model_dump(mode="json")


_NOTHING_SET: Final = TenantPolicy()
