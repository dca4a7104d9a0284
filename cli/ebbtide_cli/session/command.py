"""`ebbtide session`: its subcommands and their flags."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.settings import Settings

EPILOG: Final = (
    "Example:  ebbtide session list --degraded   then   ebbtide session show chat-42 --tenant acme"
)
_LIST: Final = "Example:  ebbtide session list --degraded --limit 20   JSON with --json, for scripts."
_SHOW: Final = "Example:  ebbtide session show chat-42 --tenant acme   Exit code 1: there is no such session."
_HISTORY: Final = "Example:  ebbtide session history chat-42 --tenant acme"
_DIFF: Final = (
    "Example:  ebbtide session diff chat-42 6 7 --tenant acme   Shows content: it comes from transcripts."
)
_WITHDRAW: Final = "Example:  ebbtide session withdraw chat-42 7 --tenant acme"
_FORGET: Final = (
    "Example:  ebbtide session forget chat-42 --tenant acme --yes   "
    "Exit code 1: something is left, since a host goes on."
)
LIMIT: Final = 50

AnyTenant = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="Sessions of this tenant only; none: of all")
]
Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose session it is")]
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id")]
Number = Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Number of a kept version")]
Earlier = Annotated[int, typer.Argument(metavar="FROM", min=1, help="Number of the earlier version")]
Later = Annotated[int, typer.Argument(metavar="TO", min=1, help="Number of the later version")]
OnlyDegraded = Annotated[
    bool, typer.Option("--degraded", help="Only sessions with degraded turns to review, newest first")
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many are shown")]
Sure = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]

app = typer.Typer(
    name="session",
    help="Look at sessions, their versions and degraded turns; withdraw a version; forget a session.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("list", epilog=_LIST)
def list_(
    tenant: AnyTenant = None,
    degraded: OnlyDegraded = False,
    limit: Limit = LIMIT,
    state: options.State = None,
    json: AsJson = False,
) -> None:
    """List sessions, the latest written first: turns, newest version, breaker, claim, mode."""
    from ebbtide_cli.session import go

    go.list_sessions(Settings.read(state=state), tenant, degraded, limit, json)


@app.command(epilog=_SHOW)
def show(
    session: SessionId,
    tenant: Tenant,
    state: options.State = None,
    codec: options.CodecName = None,
    json: AsJson = False,
) -> None:
    """Show a session's state, claim, breaker, newest version and degraded turns; no content."""
    from ebbtide_cli.session import go

    go.show(Settings.read(state=state, codec=codec), tenant, session, json)


@app.command(epilog=_HISTORY)
def history(
    session: SessionId,
    tenant: Tenant,
    state: options.State = None,
    codec: options.CodecName = None,
    json: AsJson = False,
) -> None:
    """Show a session's kept versions, oldest first: position, tokens, kind, flags, summariser, time, job."""
    from ebbtide_cli.session import go

    go.history(Settings.read(state=state, codec=codec), tenant, session, json)


@app.command(epilog=_DIFF)
def diff(
    session: SessionId,
    earlier: Earlier,
    later: Later,
    tenant: Tenant,
    state: options.State = None,
    codec: options.CodecName = None,
    json: AsJson = False,
) -> None:
    """Show what the summary gained and lost between two kept versions."""
    from ebbtide_cli.session import go

    go.diff(Settings.read(state=state, codec=codec), tenant, session, earlier, later, json)


@app.command(epilog=_WITHDRAW)
def withdraw(
    session: SessionId,
    version: Number,
    tenant: Tenant,
    state: options.State = None,
    yes: Sure = False,
    json: AsJson = False,
) -> None:
    """Take a version out of use: hosts no longer swap it in. It can't be undone."""
    from ebbtide_cli.session import go

    go.withdraw(Settings.read(state=state), tenant, session, version, yes, json)


@app.command(epilog=_FORGET)
def forget(
    session: SessionId,
    tenant: Tenant,
    state: options.State = None,
    yes: Sure = False,
    json: AsJson = False,
) -> None:
    """Remove everything of a session from the store, and prove it by a second look."""
    from ebbtide_cli.session import go

    go.forget(Settings.read(state=state), tenant, session, yes, json)
