"""How the commands for people talk: results on stdout, questions and errors so that JSON stays JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from ebbtide_cli.replay.shell import commanded
from ebbtide_cli.replay.view import shown
from ebbtide_core.errors import EbbtideError
from ebbtide_core.names import Owner


class NotThere(EbbtideError):
    """The store holds no such thing, or not what was asked of it."""


class NotDone(EbbtideError):
    """What was asked for can't be done now; the words say what can."""


@contextmanager
def errors_told() -> Iterator[None]:
    """While inside, what goes wrong is told on stderr, and ends the command with exit code 1."""
    with commanded(Console(stderr=True, highlight=False)):
        yield


def console() -> Console:
    """Return where results are shown to people."""
    return Console(highlight=False)


def print_json(value: Any) -> None:
    """Print a result for scripts."""
    typer.echo(json.dumps(value, indent=2))


def whose(owner: Owner) -> str:
    """Return which session it is about, in words for people."""
    return f"{shown(owner.tenant)} / {shown(owner.session_id)}"


def asked(effect: str, question: str, sure: bool, as_json: bool) -> None:
    """Tell the effect and ask, unless the user is sure. Raises Abort when it is not to be done."""
    if sure:
        return
    typer.echo(effect, err=as_json)
    typer.confirm(question, abort=True, err=as_json)
