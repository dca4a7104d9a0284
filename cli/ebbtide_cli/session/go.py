"""What each subcommand of `ebbtide session` does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer
from rich.markup import escape

from ebbtide_cli.hand.talk import asked, console, errors_told, print_json, whose
from ebbtide_cli.session import document, screen
from ebbtide_cli.session.desk import Desk, Seen, opened
from ebbtide_cli.session.difference import difference
from ebbtide_cli.settings import Settings
from ebbtide_core.names import Owner
from ebbtide_core.policy import Mode


@contextmanager
def _desk(settings: Settings) -> Iterator[Desk]:
    with errors_told(), opened(settings) as desk:
        yield desk


def list_sessions(settings: Settings, tenant: str | None, degraded: bool, limit: int, as_json: bool) -> None:
    """Show the sessions that were written last, or those whose degraded turns are newest."""
    with _desk(settings) as desk:
        if degraded:
            found, count = desk.degraded(tenant, limit)
            if as_json:
                print_json({"found": count, "sessions": [document.of_degraded(each) for each in found]})
            else:
                screen.show_degraded(console(), found, count)
            return
        seen, count = desk.sessions(tenant, limit)
        if as_json:
            print_json({"found": count, "sessions": [document.of_session(each) for each in seen]})
        else:
            screen.show_sessions(console(), seen, count)


def show(settings: Settings, tenant: str, session: str, as_json: bool) -> None:
    """Show all that is known of a session, but for content."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        seen = Seen(owner, desk.state(owner))
        versions = desk.versions(owner, seen.state.view.headers)
        tally, turns = desk.tally(owner), desk.review(owner)
        if as_json:
            print_json(document.of_show(seen, versions, tally, turns))
        else:
            screen.show_session(console(), seen, versions[-1:], tally, turns)


def history(settings: Settings, tenant: str, session: str, as_json: bool) -> None:
    """Show the kept versions, oldest first."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        versions = desk.versions(owner, desk.state(owner).view.headers)
        if as_json:
            told = [document.of_version(version) for version in versions]
            print_json({**document.named(owner), "versions": told})
        else:
            screen.show_versions(console(), versions)


def diff(settings: Settings, tenant: str, session: str, earlier: int, later: int, as_json: bool) -> None:
    """Show what differs between the summaries of two kept versions."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        found = difference(desk.record(owner, earlier).summary, desk.record(owner, later).summary)
        if as_json:
            print_json(document.of_difference(owner, earlier, later, found))
        else:
            screen.show_difference(console(), earlier, later, found)


def withdraw(settings: Settings, tenant: str, session: str, number: int, sure: bool, as_json: bool) -> None:
    """Take a version out of use, after asking."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        desk.version(owner, number)
        effect = (
            f"Hosts will no longer put version {number} of {whose(owner)} into a conversation.\n"
            "Buffers that hold it already keep it. Numbers go on; it can't be undone."
        )
        asked(effect, "Withdraw it?", sure, as_json)
        desk.withdraw(owner, number)
        if as_json:
            print_json({**document.named(owner), "withdrawn": number})
        else:
            console().print(f"Version {number} is withdrawn.")


def mode(settings: Settings, tenant: str, session: str, word: Mode | None, as_json: bool) -> None:
    """Set how far hosts may go in a session; None: as they ask."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        desk.set_mode(owner, word)
        if as_json:
            print_json({**document.named(owner), "mode": None if word is None else word.value})
        else:
            effect = _EFFECTS[word]
            console().print(f"{escape(whose(owner))}: {effect}, from the next turn on.")


_EFFECTS: Final = {
    None: "hosts go as far as they and the tenant's policy ask",
    Mode.ON: "mode on, which takes back nothing that hosts or the tenant's policy hold back",
    Mode.SHADOW: "mode shadow: summaries are made, and none is swapped in",
    Mode.OFF: "mode off: turns are only measured",
}


def forget(settings: Settings, tenant: str, session: str, sure: bool, as_json: bool) -> None:
    """Remove all of a session, after asking, and show what is left: exit code 1 when anything is."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        effect = (
            f"All that the store holds of {whose(owner)} is removed: state, versions, uploads, review\n"
            "list, jobs, and the summaries of its chunks, which another session of the tenant with the very\n"
            "same messages pays for again. The host's own conversation is not touched; end it first."
        )
        asked(effect, "Forget it?", sure, as_json)
        gone = desk.forget(owner)
        if as_json:
            print_json(document.of_forgotten(owner, gone))
        else:
            screen.show_forgotten(console(), owner, gone)
    if not gone.left.nothing:
        raise typer.Exit(1)
