"""What every replaying command does around its work: quiet logs, an end in order, errors told in a line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

from ebbtide_cli import log
from ebbtide_cli.signals import Ended, ending_in_order
from ebbtide_core.errors import EbbtideError


@contextmanager
def commanded(console: Console) -> Iterator[None]:
    """While inside, signals end the work in order; expected errors become a line and exit code 1."""
    log.set_up("auto", "error")
    try:
        with ending_in_order():
            yield
    except (EbbtideError, OSError) as error:
        console.print(f"[red]{type(error).__name__}[/]: {escape(str(error))}", soft_wrap=True)
        raise typer.Exit(1) from None
    except Ended as ended:
        console.print(f"Stopped by {ended}.")
        raise typer.Exit(ended.code) from None
