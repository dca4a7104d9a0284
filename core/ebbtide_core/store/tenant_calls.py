"""The scripts of a tenant's policy and block, and of the policy of tenants that have none of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ebbtide_core import names
from ebbtide_core.contract.tenant import BlockReason, TenantPolicy
from ebbtide_core.store.script import Call, ms, text

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULT: Final = names.fleet("default")


@dataclass(frozen=True, slots=True)
class StandingRead:
    """What is kept under a tenant's own name. `policy` None: that of `default_get` holds.

    `block` says why no summary can be made for the tenant, for `block_seconds` more.
    """

    policy: TenantPolicy | None = None
    block: BlockReason | None = None
    block_seconds: float = 0.0


def policy_put(tenant: str, policy: TenantPolicy) -> Call[bool]:
    """Store a tenant's policy, for good."""
    return _put(names.tenant_policy(tenant), policy)


def policy_drop(tenant: str) -> Call[bool]:
    """Remove a tenant's policy; says whether there was one. The default holds from then on."""
    return Call("unlink", (names.tenant_policy(tenant),), (), bool)


def policy_get(tenant: str) -> Call[TenantPolicy | None]:
    """Read a tenant's policy, None when it has none of its own."""
    return _get(names.tenant_policy(tenant))


def default_put(policy: TenantPolicy) -> Call[bool]:
    """Store the policy of tenants that have none of their own, for good."""
    return _put(_DEFAULT, policy)


def default_drop() -> Call[bool]:
    """Remove the policy of tenants that have none of their own; says whether there was one."""
    return Call("unlink", (_DEFAULT,), (), bool)


def default_get() -> Call[TenantPolicy | None]:
    """Read the policy of tenants that have none of their own, None when none was ever applied."""
    return _get(_DEFAULT)


def block_put(tenant: str, reason: BlockReason, seconds: float) -> Call[int]:
    """Note why no summary can be made for a tenant, for `seconds` from now; takes the place of another."""
    return Call("put", (names.tenant_block(tenant),), (ms(seconds), reason.value), int)


def block_drop(tenant: str) -> Call[bool]:
    """Lift a tenant's block; says whether there was one."""
    return Call("unlink", (names.tenant_block(tenant),), (), bool)


def standing(tenant: str) -> Call[StandingRead]:
    """Read a tenant's own policy and its block in one round trip."""
    keys = (names.tenant_policy(tenant), names.tenant_block(tenant))
    return Call("tenant_standing", keys, (), _standing)


def _put(key: str, policy: TenantPolicy) -> Call[bool]:
    return Call("tenant_policy_put", (key,), (policy.to_json(),), bool)


def _get(key: str) -> Call[TenantPolicy | None]:
    return Call("get", (key,), (), lambda values: _policy(values[0]))


def _policy(document: bytes | None) -> TenantPolicy | None:
    return None if document is None else TenantPolicy.from_json(document)


def _standing(reply: Sequence[Any]) -> StandingRead:
    document, reason, left_ms = reply
    block = None if reason is None else _reason(text(reason))
    return StandingRead(_policy(document), block, left_ms / 1000)


def _reason(word: str) -> BlockReason:
    """Read why a block stands. A newer worker may have a word for it that is not known here: it stands all
    the same.
    """
    try:
        return BlockReason(word)
    except ValueError:
        return BlockReason.PROVIDER_DOWN
