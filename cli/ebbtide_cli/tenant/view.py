"""How tenants and changes of their policies are shown, to people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from rich.console import Console

from ebbtide_cli.hand.look import show_facts, show_list, table
from ebbtide_cli.replay.view import safe
from ebbtide_cli.tenant.desk import Served
from ebbtide_cli.tenant.plan import Change, Kind
from ebbtide_core.contract.tenant import REFRESH_SECONDS, Hop, TenantPolicy

DEFAULT: Final = "(default)"
"""Stands for the policy of tenants that are not named; in JSON it is null, which no name can be."""


def of_changes(planned: Sequence[Change], dry_run: bool) -> dict[str, Any]:
    """Return what becomes of each policy, `tenant` null for the default."""
    return {"dry_run": dry_run, "changes": [_of_change(change) for change in planned]}


def _of_change(change: Change) -> dict[str, Any]:
    fields = {name: {"before": old, "after": new} for name, (old, new) in change.fields().items()}
    return {"tenant": change.tenant, "change": change.kind.value, "fields": fields}


def show_changes(console: Console, planned: Sequence[Change], dry_run: bool) -> None:
    """Show a line for each policy, and from when on it holds."""
    rows = table("tenant", "change", "what")
    for change in planned:
        differing = (_difference(name, *values) for name, values in change.fields().items())
        rows.add_row(_named(change.tenant), change.kind.value, "; ".join(differing))
    show_list(console, rows, len(planned), "policies in the file")
    if all(change.kind is Kind.SAME for change in planned):
        console.print("Nothing changes.")
    elif dry_run:
        console.print("Nothing was written: without --dry-run it would be.")
    else:
        console.print(f"Applied: hosts and workers go by it within {REFRESH_SECONDS:.0f} s.")


def _named(tenant: str | None) -> str:
    return DEFAULT if tenant is None else safe(tenant)


def _difference(name: str, before: Any, after: Any) -> str:
    return f"{name} {_value(before)} → {_value(after)}"


def _value(value: Any) -> str:
    """Return a field's value in a few words."""
    if value is None:
        return "none"
    if isinstance(value, list | tuple):
        return " then ".join(_hop(Hop.model_validate(each)) for each in value) or "the worker's own"
    return safe(value if isinstance(value, str) else json.dumps(value))


def _hop(hop: Hop) -> str:
    return safe(" ".join(filter(None, (hop.summariser, hop.model))) or "the worker's own")


def of_policy(policy: TenantPolicy) -> dict[str, Any]:
    """Return a policy's fields."""
    return policy.model_dump(mode="json")


def of_tenant(served: Served) -> dict[str, Any]:
    """Return all that is known of a tenant."""
    own = served.own
    return {
        "tenant": served.tenant,
        "declared": own.policy is not None,
        "policy": of_policy(served.policy),
        "today": {"tokens": served.spent.tokens, "dollars": served.spent.dollars},
        "jobs": {"ready": served.ready, "running": served.running},
        "block": None if own.block is None else own.block.value,
        "block_seconds": round(own.block_seconds, 3),
    }


def of_list(served: Sequence[Served], default: TenantPolicy | None, found: int) -> dict[str, Any]:
    """Return the tenants that have a policy of their own, and the default."""
    others = None if default is None else of_policy(default)
    return {"found": found, "default": others, "tenants": [of_tenant(each) for each in served]}


def show_list_of(
    console: Console, served: Sequence[Served], default: TenantPolicy | None, found: int
) -> None:
    """Show a line for each tenant, and what holds for all others."""
    rows = table("tenant", "mode", "weight", "running", "ready", "tokens today", "dollars today", "blocked")
    for each in served:
        policy, spent, block = each.policy, each.spent, each.own.block
        rows.add_row(
            safe(each.tenant),
            policy.mode.value,
            str(policy.weight),
            _of(each.running, policy.concurrency),
            _of(each.ready, policy.max_pending),
            _of(spent.tokens, policy.tokens_a_day),
            _of(spent.dollars, policy.spend_a_day, ",.2f"),
            "-" if block is None else f"{block.value}, {each.own.block_seconds:,.0f} s",
        )
    show_list(console, rows, found, "tenants with a policy of their own")
    told = "no limits" if default is None else "; ".join(_set(default)) or "no limits"
    console.print(f"All others: {told}.")


def _of(count: float, limit: float | None, form: str = ",") -> str:
    told = format(count, form)
    return told if limit is None else f"{told} of {format(limit, form)}"


def _set(policy: TenantPolicy) -> Iterator[str]:
    """Return the fields of a policy that are not as they are without one."""
    for name, (_, value) in Change(None, None, policy).fields().items():
        yield f"{name} {_value(value)}"


def show_tenant(console: Console, served: Served) -> None:
    """Show a tenant's policy, what it spent today, its jobs, and its block."""
    show_facts(console, _facts(served))


def _facts(served: Served) -> Iterator[tuple[str, str]]:
    policy, own = served.policy, served.own
    yield "tenant", safe(served.tenant)
    yield "policy", "its own" if own.policy else "that of all tenants without one of their own"
    yield "mode", policy.mode.value
    yield "weight", str(policy.weight)
    yield "running", _of(served.running, policy.concurrency)
    yield "ready", _of(served.ready, policy.max_pending)
    yield "today", _today(served)
    yield "route", _value(policy.route)
    yield "breaker", "; ".join(each for each in _set(policy) if each.startswith("breaker_")) or "as hosts ask"
    yield "blocked", "no" if own.block is None else f"{own.block.value}, for {own.block_seconds:,.0f} s more"


def _today(served: Served) -> str:
    policy, spent = served.policy, served.spent
    tokens = _of(spent.tokens, policy.tokens_a_day)
    return f"{tokens} tokens, {_of(spent.dollars, policy.spend_a_day, ',.4f')} dollars since midnight UTC"
