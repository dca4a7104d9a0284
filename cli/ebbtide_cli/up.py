"""`ebbtide up`: the whole pool on this machine, until it is told to stop."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.settings import Settings, shown

EPILOG: Final = (
    "Example:  ebbtide up --port 6390 --data ./ebbtide-data   then   Pool('redis://127.0.0.1:6390/0')"
)

_POLL_SECONDS: Final = 0.2

Workers = Annotated[int, typer.Option("--workers", metavar="N", min=1, max=64, help="Worker processes")]
Port = Annotated[
    int, typer.Option("--port", metavar="PORT", min=0, max=65_535, help="Port on 127.0.0.1; 0: a free one")
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Keep the data here over restarts; none: it is dropped"),
]


def up(
    port: Port = 0,
    data: Data = None,
    workers: Workers = 1,
    concurrency: options.Concurrency = None,
    summariser: options.SummariserName = None,
    model: options.SummariserModel = None,
    base_url: options.BaseUrl = None,
    log_format: options.LogFormatName = None,
    log_level: options.LogLevelName = None,
) -> None:
    """Start an embedded server and workers, show how to connect, and stop all on Ctrl-C or SIGTERM."""
    settings = Settings.read(
        concurrency=concurrency,
        summariser=summariser,
        model=model,
        base_url=base_url,
        log_format=log_format,
        log_level=log_level,
    )
    raise typer.Exit(keep_up(settings, port, data, workers))


def keep_up(settings: Settings, port: int, data: Path | None, workers: int) -> int:
    """Run the pool until a signal ends it (0) or a part of it fails (1)."""
    from rich.console import Console

    from ebbtide_cli.embedded import EmbeddedServer
    from ebbtide_cli.local_pool import LocalPool
    from ebbtide_cli.signals import Ended, ending_in_order
    from ebbtide_core.errors import EbbtideError

    console = Console(highlight=False)
    chosen = _summariser_told(settings)
    try:
        with ending_in_order():
            server = EmbeddedServer(tcp=True, port=port, appendonly=data is not None, data_dir=data)
            with LocalPool(settings, server, workers=workers) as pool:
                console.print(_told(pool.state, chosen, workers, settings.concurrency), soft_wrap=True)
                while True:
                    pool.check()
                    time.sleep(_POLL_SECONDS)
    except Ended as ended:
        console.print(f"Stopped by {ended}.")
        return 0
    except (EbbtideError, OSError) as error:
        console.print(f"[red]{type(error).__name__}[/]: {error}", soft_wrap=True)
        return 1


def _summariser_told(settings: Settings) -> str:
    from ebbtide_cli.worker import chosen_summariser

    chosen = chosen_summariser(settings)
    asked = (
        "" if settings.summariser else f" ({settings.key_env} is {'' if settings.key_present else 'not '}set)"
    )
    return chosen + asked


def _told(url: str, summariser: str, workers: int, concurrency: int) -> str:
    address = shown(url)
    return (
        "[bold green]The pool is up.[/]\n"
        f"  state and broker  {address}\n"
        f"  workers           {workers} of {concurrency} jobs side by side\n"
        f"  summariser        {summariser}\n\n"
        "Connect a host:\n"
        "  from ebbtide import Pool\n"
        f'  pool = Pool("{address}")\n\n'
        "Ctrl-C stops it."
    )
