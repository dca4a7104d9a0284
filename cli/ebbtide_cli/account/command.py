"""`ebbtide account`: its subcommands and their flags."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.hand import flags
from ebbtide_cli.settings import Settings

EPILOG: Final = "Example:  ebbtide account list   then   ebbtide account reset anthropic-0123456789abcdef"
_LIST: Final = "Example:  ebbtide account list   JSON with --json, for scripts."
_RESET: Final = "Example:  ebbtide account reset anthropic-0123456789abcdef   or   --all"

MaybeAccount = Annotated[
    str | None, typer.Argument(metavar="ACCOUNT", help="The account's name, from `list`")
]
Every = Annotated[bool, typer.Option("--all", help="All accounts")]

app = typer.Typer(
    name="account",
    help="Look at the providers' accounts that workers share: limits, failures, blocks; lift a block.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("list", epilog=_LIST)
def list_(state: options.State = None, json: flags.AsJson = False) -> None:
    """List the accounts of which something is known: their limit, failures in a row, and block."""
    from ebbtide_cli.account import go

    go.list_accounts(Settings.read(state=state), json)


@app.command(epilog=_RESET)
def reset(
    account: MaybeAccount = None,
    every: Every = False,
    state: options.State = None,
    yes: flags.Sure = False,
    json: flags.AsJson = False,
) -> None:
    """Forget what is known of an account, so that it is asked again at once: its block, failures, limit."""
    from ebbtide_cli.account import go

    if (account is None) != every:
        raise typer.BadParameter("name one ACCOUNT, or all of them with --all")
    go.reset(Settings.read(state=state), account, yes, json)
