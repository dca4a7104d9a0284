"""`ebbtide health`: asks a worker on this machine, for the health checks of containers."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.settings import Settings

EPILOG: Final = "Example:  ebbtide health --ready --health-port 8081   Exit code 1: not ready, or no answer."

_TIMEOUT: Final = 3.0

Ready = Annotated[
    bool, typer.Option("--ready/--live", help="Ready for new jobs, or alive at all (restart it if not)")
]


def health(
    ready: Ready = False, health_host: options.HealthHost = None, health_port: options.HealthPort = None
) -> None:
    """Ask a worker that tells its health whether it is alive or ready, and exit with 0 or 1."""
    settings = Settings.read(health_host=health_host, health_port=health_port)
    if not settings.health_port:
        raise typer.BadParameter("--health-port or EBBTIDE_HEALTH_PORT: give the port that the worker has")
    well, told = ask(settings.health_host, settings.health_port, "/ready" if ready else "/live")
    typer.echo(told, err=not well)
    raise typer.Exit(int(not well))


def ask(host: str, port: int, path: str) -> tuple[bool, str]:
    """Return whether all is well, and what the worker said or why it said nothing."""
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(_reachable(host), port, timeout=_TIMEOUT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status == 200, answer.read().decode(errors="replace")
    except (OSError, HTTPException) as error:
        return False, f"no worker told its health at {host}:{port} ({type(error).__name__})"
    finally:
        connection.close()


def _reachable(host: str) -> str:
    """Return where to connect to what listens at a host; at all addresses is also at this machine's own."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  nothing is bound here
