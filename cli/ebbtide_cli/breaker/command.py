"""`ebbtide breaker`: its subcommands and their flags."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.hand import flags
from ebbtide_cli.settings import Settings

EPILOG: Final = "Example:  ebbtide breaker list   then   ebbtide breaker reset chat-42 --tenant acme"
_LIST: Final = "Example:  ebbtide breaker list --tenant acme   JSON with --json, for scripts."
_SHOW: Final = "Example:  ebbtide breaker show chat-42 --tenant acme   Exit code 1: there is no such session."
_RESET: Final = "Example:  ebbtide breaker reset chat-42 --tenant acme   or   --tenant acme --all"

AlsoClosed = Annotated[bool, typer.Option("--all", help="Also sessions whose breaker is closed")]
Every = Annotated[bool, typer.Option("--all", help="All sessions of the tenant whose breaker is not closed")]
MaybeSession = Annotated[str | None, typer.Argument(metavar="SESSION", help="The session's id")]

app = typer.Typer(
    name="breaker",
    help="Look at breakers: sessions whose summaries failed in a row; let them try again at once.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("list", epilog=_LIST)
def list_(
    tenant: flags.AnyTenant = None,
    every: AlsoClosed = False,
    limit: flags.Limit = flags.LIMIT,
    state: options.State = None,
    json: flags.AsJson = False,
) -> None:
    """List sessions whose breaker is open or half-open: failures, how long, what the failures were."""
    from ebbtide_cli.breaker import go

    go.list_breakers(Settings.read(state=state), tenant, every, limit, json)


@app.command(epilog=_SHOW)
def show(
    session: flags.SessionId,
    tenant: flags.Tenant,
    state: options.State = None,
    json: flags.AsJson = False,
) -> None:
    """Show a session's breaker, and what became of its jobs."""
    from ebbtide_cli.breaker import go

    go.show(Settings.read(state=state), tenant, session, json)


@app.command(epilog=_RESET)
def reset(
    tenant: flags.Tenant,
    session: MaybeSession = None,
    every: Every = False,
    state: options.State = None,
    yes: flags.Sure = False,
    json: flags.AsJson = False,
) -> None:
    """Close the breaker of one session, or of all of a tenant: summaries are asked for again at once."""
    from ebbtide_cli.breaker import go

    if (session is None) != every:
        raise typer.BadParameter("name one SESSION, or all of the tenant with --all")
    settings = Settings.read(state=state)
    if session is None:
        go.reset_all(settings, tenant, yes, json)
    else:
        go.reset(settings, tenant, session, yes, json)
