"""What each subcommand of `ebbtide session` does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from ebbtide_cli.replay.shell import commanded
from ebbtide_cli.replay.view import shown
from ebbtide_cli.session import document, screen
from ebbtide_cli.session.desk import Desk, Seen, opened
from ebbtide_cli.session.difference import difference
from ebbtide_cli.settings import Settings
from ebbtide_core.names import Owner


@contextmanager
def _desk(settings: Settings) -> Iterator[Desk]:
    """Yield a desk; what goes wrong is told on stderr, so that JSON on stdout stays JSON."""
    with commanded(Console(stderr=True, highlight=False)), opened(settings) as desk:
        yield desk


def _console() -> Console:
    return Console(highlight=False)


def _print(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))


def list_sessions(settings: Settings, tenant: str | None, degraded: bool, limit: int, as_json: bool) -> None:
    """Show the sessions that were written last, or those whose degraded turns are newest."""
    with _desk(settings) as desk:
        if degraded:
            found, count = desk.degraded(tenant, limit)
            if as_json:
                _print({"found": count, "sessions": [document.of_degraded(each) for each in found]})
            else:
                screen.show_degraded(_console(), found, count)
            return
        seen, count = desk.sessions(tenant, limit)
        if as_json:
            _print({"found": count, "sessions": [document.of_session(each) for each in seen]})
        else:
            screen.show_sessions(_console(), seen, count)


def show(settings: Settings, tenant: str, session: str, as_json: bool) -> None:
    """Show all that is known of a session, but for content."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        seen = Seen(owner, desk.state(owner))
        versions = desk.versions(owner, seen.state.view.headers)
        tally, turns = desk.tally(owner), desk.review(owner)
        if as_json:
            _print(document.of_show(seen, versions, tally, turns))
        else:
            screen.show_session(_console(), seen, versions[-1:], tally, turns)


def history(settings: Settings, tenant: str, session: str, as_json: bool) -> None:
    """Show the kept versions, oldest first."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        versions = desk.versions(owner, desk.state(owner).view.headers)
        if as_json:
            told = [document.of_version(version) for version in versions]
            _print({**document.named(owner), "versions": told})
        else:
            screen.show_versions(_console(), versions)


def diff(settings: Settings, tenant: str, session: str, earlier: int, later: int, as_json: bool) -> None:
    """Show what differs between the summaries of two kept versions."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        found = difference(desk.record(owner, earlier).summary, desk.record(owner, later).summary)
        if as_json:
            _print(document.of_difference(owner, earlier, later, found))
        else:
            screen.show_difference(_console(), earlier, later, found)


def withdraw(settings: Settings, tenant: str, session: str, number: int, sure: bool, as_json: bool) -> None:
    """Take a version out of use, after asking."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        desk.version(owner, number)
        effect = (
            f"Hosts will no longer put version {number} of {_whose(owner)} into a conversation.\n"
            "Buffers that hold it already keep it. Numbers go on; it can't be undone."
        )
        _asked(effect, "Withdraw it?", sure, as_json)
        desk.withdraw(owner, number)
        if as_json:
            _print({**document.named(owner), "withdrawn": number})
        else:
            _console().print(f"Version {number} is withdrawn.")


def forget(settings: Settings, tenant: str, session: str, sure: bool, as_json: bool) -> None:
    """Remove all of a session, after asking, and show what is left: exit code 1 when anything is."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        effect = (
            f"All that the store holds of {_whose(owner)} is removed: state, versions, uploads, review\n"
            "list, jobs, and the summaries of its chunks, which another session of the tenant with the very\n"
            "same messages pays for again. The host's own conversation is not touched; end it first."
        )
        _asked(effect, "Forget it?", sure, as_json)
        gone = desk.forget(owner)
        if as_json:
            _print(document.of_forgotten(owner, gone))
        else:
            screen.show_forgotten(_console(), owner, gone)
    if not gone.left.nothing:
        raise typer.Exit(1)


def _whose(owner: Owner) -> str:
    return f"{shown(owner.tenant)} / {shown(owner.session_id)}"


def _asked(effect: str, question: str, sure: bool, as_json: bool) -> None:
    """Tell the effect and ask, unless the user is sure. Raises Abort when it is not to be done."""
    if sure:
        return
    typer.echo(effect, err=as_json)
    typer.confirm(question, abort=True, err=as_json)
