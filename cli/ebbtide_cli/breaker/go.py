"""What each subcommand of `ebbtide breaker` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ebbtide_cli.breaker import view
from ebbtide_cli.hand.talk import asked, console, errors_told, print_json, whose
from ebbtide_cli.replay.view import shown
from ebbtide_cli.session.desk import Desk, Seen, opened
from ebbtide_cli.session.document import named
from ebbtide_cli.settings import Settings
from ebbtide_core.breaker import BreakerState
from ebbtide_core.names import Owner, checked_name
from ebbtide_core.store.results import StateView


@contextmanager
def _desk(settings: Settings) -> Iterator[Desk]:
    with errors_told(), opened(settings) as desk:
        yield desk


def list_breakers(settings: Settings, tenant: str | None, every: bool, limit: int, as_json: bool) -> None:
    """Show the sessions whose breaker is not closed, or all, those written last first."""
    with _desk(settings) as desk:
        seen, count = desk.sessions(tenant, limit, None if every else _troubled)
        tallies = desk.tallies([each.owner for each in seen])
        if as_json:
            lines = [view.of_breaker(each, tally) for each, tally in zip(seen, tallies, strict=True)]
            print_json({"found": count, "sessions": lines})
        else:
            what = "sessions" if every else "sessions whose breaker is not closed"
            view.show_breakers(console(), seen, tallies, count, what)


def show(settings: Settings, tenant: str, session: str, as_json: bool) -> None:
    """Show a session's breaker and what became of its jobs."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        seen, tally = Seen(owner, desk.state(owner)), desk.tally(owner)
        if as_json:
            print_json({**view.of_breaker(seen, tally), "jobs": tally})
        else:
            view.show_breaker(console(), seen, tally)


def reset(settings: Settings, tenant: str, session: str, sure: bool, as_json: bool) -> None:
    """Close a session's breaker, after asking."""
    with _desk(settings) as desk:
        owner = Owner.of(tenant, session)
        desk.state(owner)
        effect = f"The breaker of {whose(owner)} is closed, its failures are forgotten."
        asked(f"{effect} {_AFTERWARDS}", "Reset it?", sure, as_json)
        _reset(desk, [owner], as_json)


def reset_all(settings: Settings, tenant: str, sure: bool, as_json: bool) -> None:
    """Close the breakers of a tenant that are not closed, after asking."""
    with _desk(settings) as desk:
        name = checked_name(tenant, "tenant")
        seen, count = desk.sessions(name, None, _troubled)
        if count:
            effect = f"The breakers of {count:,} sessions of {shown(name)} are closed, failures forgotten."
            asked(f"{effect} {_AFTERWARDS}", "Reset them?", sure, as_json)
        _reset(desk, [each.owner for each in seen], as_json)


_AFTERWARDS = "Each asks for a\nsummary again at once, and pays for it: mend first what made them fail."


def _reset(desk: Desk, owners: Sequence[Owner], as_json: bool) -> None:
    closed = [owner for owner in owners if desk.reset_breaker(owner)]
    if as_json:
        print_json({"reset": [named(owner) for owner in closed]})
    else:
        console().print(
            f"{len(closed):,} breakers are closed." if len(closed) != 1 else "1 breaker is closed."
        )


def _troubled(state: StateView) -> bool:
    return state.view.breaker is not BreakerState.CLOSED
