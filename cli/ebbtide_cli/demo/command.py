"""`ebbtide demo`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from ebbtide_cli import options

EPILOG: Final = "Example:  ebbtide demo   or, with your own sessions,   ebbtide replay session.jsonl"

SessionOut = Annotated[
    Path | None,
    typer.Option(
        "--session-out", metavar="FILE", help="Only write the session, as a file for ebbtide replay"
    ),
]


def demo(
    pace: options.Pace = 0.3,
    json: options.JsonFile = None,
    session_out: SessionOut = None,
    quiet: options.Quiet = False,
) -> None:
    """Replay an invented coding session through an embedded pool, and show what happens.

    Needs no server and no key. Exit code 1: there were fewer than three swaps.

    A terminal shows the session against both watermarks, a pipe gets a line for each turn that matters.
    """
    from ebbtide_cli.demo import go

    if session_out is not None:
        go.write_session(session_out)
    else:
        go.demo(pace, json, quiet=quiet)
