"""The `ebbtide` command: its subcommands and its version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Final

import typer

from ebbtide_cli.account.command import app as account_app
from ebbtide_cli.breaker.command import app as breaker_app
from ebbtide_cli.cost.command import EPILOG as COST_EPILOG
from ebbtide_cli.cost.command import cost
from ebbtide_cli.demo.command import EPILOG as DEMO_EPILOG
from ebbtide_cli.demo.command import demo
from ebbtide_cli.doctor.command import EPILOG as DOCTOR_EPILOG
from ebbtide_cli.doctor.command import doctor
from ebbtide_cli.health import EPILOG as HEALTH_EPILOG
from ebbtide_cli.health import health
from ebbtide_cli.jobs.command import app as jobs_app
from ebbtide_cli.replay.command import EPILOG as REPLAY_EPILOG
from ebbtide_cli.replay.command import replay
from ebbtide_cli.session.command import app as session_app
from ebbtide_cli.tenant.command import app as tenant_app
from ebbtide_cli.up import EPILOG as UP_EPILOG
from ebbtide_cli.up import up
from ebbtide_cli.worker import EPILOG as WORKER_EPILOG
from ebbtide_cli.worker import worker

BY_HAND: Final = "A pool by hand"

app = typer.Typer(
    name="ebbtide",
    help="Compacts long agent sessions ahead of time, out of process, so that no turn waits for a summary.",
    epilog="Start with:  ebbtide demo   (needs nothing installed and no key)",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if not asked:
        return
    try:
        number = version("ebbtide")
    except PackageNotFoundError:
        number = "unknown: not installed as a package"
    typer.echo(f"ebbtide {number}")
    raise typer.Exit


@app.callback()
def main(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compacts long agent sessions ahead of time, out of process, so that no turn waits for a summary."""


app.command(epilog=DEMO_EPILOG)(demo)
app.command(epilog=REPLAY_EPILOG)(replay)
app.command(epilog=COST_EPILOG)(cost)
app.command(epilog=UP_EPILOG)(up)
app.command(epilog=WORKER_EPILOG)(worker)
app.command(epilog=HEALTH_EPILOG)(health)
app.command(epilog=DOCTOR_EPILOG)(doctor)
app.add_typer(session_app, rich_help_panel=BY_HAND)
app.add_typer(tenant_app, rich_help_panel=BY_HAND)
app.add_typer(account_app, rich_help_panel=BY_HAND)
app.add_typer(breaker_app, rich_help_panel=BY_HAND)
app.add_typer(jobs_app, rich_help_panel=BY_HAND)
