"""How breakers are shown, to people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console

from ebbtide_cli.hand.look import ago, show_facts, show_list, table
from ebbtide_cli.replay.view import safe
from ebbtide_cli.session import document
from ebbtide_cli.session.desk import Seen
from ebbtide_cli.session.screen import breaker_words
from ebbtide_core.breaker import Outcome

_FAILURE: Final = f"{Outcome.FAILURE.value}:"
"""What the tally calls an attempt that counted against the breaker begins with; the reason follows."""


def failures(tally: Mapping[str, int]) -> dict[str, int]:
    """Return how often attempts failed for which reason, the most frequent first."""
    counted = {event.removeprefix(_FAILURE): n for event, n in tally.items() if event.startswith(_FAILURE)}
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def of_breaker(seen: Seen, tally: Mapping[str, int]) -> dict[str, Any]:
    """Return a session's breaker as JSON."""
    return {
        **document.named(seen.owner),
        **document.of_breaker(seen.state),
        "idle_seconds": round(seen.state.idle, 3),
        "failures": failures(tally),
    }


def show_breakers(
    console: Console, sessions: Sequence[Seen], tallies: Sequence[Mapping[str, int]], found: int, what: str
) -> None:
    """Show a line for each session."""
    rows = table("tenant", "session", "breaker", "failures", "turns open", "open for", "idle", "they were")
    for seen, tally in zip(sessions, tallies, strict=True):
        state = seen.state
        rows.add_row(
            safe(seen.owner.tenant),
            safe(seen.owner.session_id),
            state.view.breaker.value,
            f"{state.failures:,}",
            f"{state.turns_open:,}",
            "-" if state.seconds_open is None else ago(state.seconds_open),
            ago(state.idle),
            _counted(failures(tally)) or "-",
        )
    show_list(console, rows, found, what)


def show_breaker(console: Console, seen: Seen, tally: Mapping[str, int]) -> None:
    """Show a session's breaker and what became of its jobs."""
    show_facts(console, _facts(seen, tally))


def _facts(seen: Seen, tally: Mapping[str, int]) -> Iterable[tuple[str, str]]:
    yield "session", f"{safe(seen.owner.tenant)} / {safe(seen.owner.session_id)}"
    yield "breaker", breaker_words(seen.state)
    yield "idle", ago(seen.state.idle)
    yield "failures", _counted(failures(tally)) or "none that is remembered"
    yield "jobs", _counted(dict(sorted(tally.items()))) or "none that is remembered"


def _counted(events: Mapping[str, int]) -> str:
    return ", ".join(f"{safe(event)} {times:,}" for event, times in events.items())
