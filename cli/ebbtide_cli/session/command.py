"""`ebbtide session`: its subcommands and their flags."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.hand import flags
from ebbtide_cli.settings import Settings
from ebbtide_core.policy import Mode

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
_MODE: Final = "Example:  ebbtide session mode chat-42 shadow --tenant acme"
_FORGET: Final = (
    "Example:  ebbtide session forget chat-42 --tenant acme --yes   "
    "Exit code 1: something is left, since a host goes on."
)
Number = Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Number of a kept version")]
Earlier = Annotated[int, typer.Argument(metavar="FROM", min=1, help="Number of the earlier version")]
Later = Annotated[int, typer.Argument(metavar="TO", min=1, help="Number of the later version")]
OnlyDegraded = Annotated[
    bool, typer.Option("--degraded", help="Only sessions with degraded turns to review, newest first")
]


class ModeWord(StrEnum):
    """How far hosts may go; default: as they and the tenant's policy ask."""

    OFF = "off"
    SHADOW = "shadow"
    ON = "on"
    DEFAULT = "default"


Word = Annotated[
    ModeWord,
    typer.Argument(help="off: only measure; shadow: make summaries, use none; default: as hosts ask"),
]

app = typer.Typer(
    name="session",
    help="Look at sessions, their versions and degraded turns; withdraw a version, set a mode, forget all.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("list", epilog=_LIST)
def list_(
    tenant: flags.AnyTenant = None,
    degraded: OnlyDegraded = False,
    limit: flags.Limit = flags.LIMIT,
    state: options.State = None,
    json: flags.AsJson = False,
) -> None:
    """List sessions, the latest written first: turns, newest version, breaker, claim, mode."""
    from ebbtide_cli.session import go

    go.list_sessions(Settings.read(state=state), tenant, degraded, limit, json)


@app.command(epilog=_SHOW)
def show(
    session: flags.SessionId,
    tenant: flags.Tenant,
    state: options.State = None,
    codec: options.CodecName = None,
    json: flags.AsJson = False,
) -> None:
    """Show a session's state, claim, breaker, newest version and degraded turns; no content."""
    from ebbtide_cli.session import go

    go.show(Settings.read(state=state, codec=codec), tenant, session, json)


@app.command(epilog=_HISTORY)
def history(
    session: flags.SessionId,
    tenant: flags.Tenant,
    state: options.State = None,
    codec: options.CodecName = None,
    json: flags.AsJson = False,
) -> None:
    """Show a session's kept versions, oldest first: position, tokens, kind, flags, summariser, time, job."""
    from ebbtide_cli.session import go

    go.history(Settings.read(state=state, codec=codec), tenant, session, json)


@app.command(epilog=_DIFF)
def diff(
    session: flags.SessionId,
    earlier: Earlier,
    later: Later,
    tenant: flags.Tenant,
    state: options.State = None,
    codec: options.CodecName = None,
    json: flags.AsJson = False,
) -> None:
    """Show what the summary gained and lost between two kept versions."""
    from ebbtide_cli.session import go

    go.diff(Settings.read(state=state, codec=codec), tenant, session, earlier, later, json)


@app.command(epilog=_WITHDRAW)
def withdraw(
    session: flags.SessionId,
    version: Number,
    tenant: flags.Tenant,
    state: options.State = None,
    yes: flags.Sure = False,
    json: flags.AsJson = False,
) -> None:
    """Take a version out of use: hosts no longer swap it in. It can't be undone."""
    from ebbtide_cli.session import go

    go.withdraw(Settings.read(state=state), tenant, session, version, yes, json)


@app.command(epilog=_MODE)
def mode(
    session: flags.SessionId,
    word: Word,
    tenant: flags.Tenant,
    state: options.State = None,
    json: flags.AsJson = False,
) -> None:
    """Set how far hosts may go in a session, from its next turn on. The most cautious mode asked for wins."""
    from ebbtide_cli.session import go

    given = None if word is ModeWord.DEFAULT else Mode(word.value)
    go.mode(Settings.read(state=state), tenant, session, given, json)


@app.command(epilog=_FORGET)
def forget(
    session: flags.SessionId,
    tenant: flags.Tenant,
    state: options.State = None,
    yes: flags.Sure = False,
    json: flags.AsJson = False,
) -> None:
    """Remove everything of a session from the store, and prove it by a second look."""
    from ebbtide_cli.session import go

    go.forget(Settings.read(state=state), tenant, session, yes, json)
