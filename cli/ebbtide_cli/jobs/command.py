"""`ebbtide jobs`: its subcommands and their flags."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.hand import flags
from ebbtide_cli.settings import Settings

EPILOG: Final = "Example:  ebbtide jobs list --dead   then   ebbtide jobs retry 3f2a9c1b"
_LIST: Final = "Example:  ebbtide jobs list --tenant acme   JSON with --json, for scripts."
_SHOW: Final = "Example:  ebbtide jobs show 3f2a9c1b   The beginning of the id is enough."
_RETRY: Final = "Example:  ebbtide jobs retry 3f2a9c1b   Exit code 1: it was not queued, and why."
_DROP: Final = "Example:  ebbtide jobs drop 3f2a9c1b --yes"

Dead = Annotated[bool, typer.Option("--dead", help="Dead letters: jobs that were given up, newest first")]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="The job's id, or how it begins")]

app = typer.Typer(
    name="jobs",
    help="Look at jobs that wait, run or were given up; give a dead letter another try, or take a job out.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("list", epilog=_LIST)
def list_(
    dead: Dead = False,
    tenant: flags.AnyTenant = None,
    limit: flags.Limit = flags.LIMIT,
    state: options.State = None,
    json: flags.AsJson = False,
) -> None:
    """List running and ready jobs, in the order of being served within a tenant; or dead letters."""
    from ebbtide_cli.jobs import go

    go.list_jobs(Settings.read(state=state), dead, tenant, limit, json)


@app.command(epilog=_SHOW)
def show(job: JobId, state: options.State = None, json: flags.AsJson = False) -> None:
    """Show a job: whose it is, up to where, its attempts, its worker or why it was given up; no content."""
    from ebbtide_cli.jobs import go

    go.show(Settings.read(state=state), job, json)


@app.command(epilog=_RETRY)
def retry(
    job: JobId,
    state: options.State = None,
    broker: options.Broker = None,
    json: flags.AsJson = False,
) -> None:
    """Give a dead letter another try: it asks the session for a new claim, as its host would."""
    from ebbtide_cli.jobs import go

    go.retry(Settings.read(state=state, broker=broker), job, json)


@app.command(epilog=_DROP)
def drop(
    job: JobId, state: options.State = None, yes: flags.Sure = False, json: flags.AsJson = False
) -> None:
    """Take out a dead letter, or a ready job, whose session may then ask for another."""
    from ebbtide_cli.jobs import go

    go.drop(Settings.read(state=state), job, yes, json)
