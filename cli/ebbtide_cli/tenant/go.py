"""What each subcommand of `ebbtide tenant` does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ebbtide_cli.hand.store import opened_store
from ebbtide_cli.hand.talk import asked, console, errors_told, print_json
from ebbtide_cli.replay.view import shown
from ebbtide_cli.settings import Settings
from ebbtide_cli.tenant import document, view
from ebbtide_cli.tenant.desk import TenantDesk
from ebbtide_cli.tenant.plan import Change, Kind, changes


@contextmanager
def _desk(settings: Settings) -> Iterator[TenantDesk]:
    with errors_told(), opened_store(settings) as store:
        yield TenantDesk(store)


def apply(settings: Settings, path: Path, prune: bool, dry_run: bool, sure: bool, as_json: bool) -> None:
    """Write what a file declares, and show what that changes; with `dry_run` only show it."""
    with _desk(settings) as desk:
        declared = document.read(path.read_bytes())
        planned = changes(declared, desk.stored(declared.tenants), prune)
        if not dry_run:
            _ask_about_removal(planned, sure, as_json)
            desk.apply(planned)
        if as_json:
            print_json(view.of_changes(planned, dry_run))
        else:
            view.show_changes(console(), planned, dry_run)


def _ask_about_removal(planned: tuple[Change, ...], sure: bool, as_json: bool) -> None:
    removed = [change for change in planned if change.kind is Kind.REMOVED]
    if removed:
        effect = "Policies that the file does not declare are removed: "
        told = ", ".join(view.DEFAULT if each.tenant is None else shown(each.tenant) for each in removed)
        asked(f"{effect}{told}.", "Remove them?", sure, as_json)


def list_tenants(settings: Settings, limit: int, as_json: bool) -> None:
    """Show the tenants that have a policy of their own, and the default."""
    with _desk(settings) as desk:
        names, default = desk.names(), desk.default()
        served = desk.served(names[:limit])
        if as_json:
            print_json(view.of_list(served, default, len(names)))
        else:
            view.show_list_of(console(), served, default, len(names))


def show(settings: Settings, tenant: str, as_json: bool) -> None:
    """Show a tenant's policy, what it spent today, its jobs, and its block."""
    with _desk(settings) as desk:
        (served,) = desk.served([tenant])
        if as_json:
            print_json(view.of_tenant(served))
        else:
            view.show_tenant(console(), served)


def unblock(settings: Settings, tenant: str, as_json: bool) -> None:
    """Lift a tenant's block."""
    with _desk(settings) as desk:
        lifted = desk.unblock(tenant)
        if as_json:
            print_json({"tenant": tenant, "unblocked": lifted})
        elif lifted:
            console().print("The block is lifted: hosts and workers hear of it within ten seconds.")
        else:
            console().print("It was not blocked.")
