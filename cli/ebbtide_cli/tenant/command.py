"""`ebbtide tenant`: its subcommands and their flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.hand import flags
from ebbtide_cli.settings import Settings

EPILOG: Final = "Example:  ebbtide tenant apply tenants.toml --dry-run   then   ebbtide tenant list"
_APPLY: Final = (
    "Example:  ebbtide tenant apply tenants.toml --prune   Nothing is written while anything is wrong with "
    "the file. Doing it again changes nothing."
)
_LIST: Final = "Example:  ebbtide tenant list   JSON with --json, for scripts."
_SHOW: Final = "Example:  ebbtide tenant show acme"
_UNBLOCK: Final = "Example:  ebbtide tenant unblock acme   Once its key or spend limit is mended."

File = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="TOML: routes, default, tenants")
]
Prune = Annotated[bool, typer.Option("--prune", help="Remove policies that the file does not declare")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would change")]
Name = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's name")]

app = typer.Typer(
    name="tenant",
    help="Declare what tenants may have and how they are served: limits, weight, summarisers, mode.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command(epilog=_APPLY)
def apply(
    file: File,
    prune: Prune = False,
    dry_run: DryRun = False,
    state: options.State = None,
    yes: flags.Sure = False,
    json: flags.AsJson = False,
) -> None:
    """Apply a file of tenants; it takes effect within ten seconds, without a restart."""
    from ebbtide_cli.tenant import go

    go.apply(Settings.read(state=state), file, prune, dry_run, yes, json)


@app.command("list", epilog=_LIST)
def list_(limit: flags.Limit = flags.LIMIT, state: options.State = None, json: flags.AsJson = False) -> None:
    """List tenants that have a policy of their own: jobs, and tokens and dollars of today."""
    from ebbtide_cli.tenant import go

    go.list_tenants(Settings.read(state=state), limit, json)


@app.command(epilog=_SHOW)
def show(tenant: Name, state: options.State = None, json: flags.AsJson = False) -> None:
    """Show a tenant's policy, what it spent today, its jobs, and why it is blocked, if it is."""
    from ebbtide_cli.tenant import go

    go.show(Settings.read(state=state), tenant, json)


@app.command(epilog=_UNBLOCK)
def unblock(tenant: Name, state: options.State = None, json: flags.AsJson = False) -> None:
    """Lift a tenant's block before its time is over: summaries are asked for again."""
    from ebbtide_cli.tenant import go

    go.unblock(Settings.read(state=state), tenant, json)
