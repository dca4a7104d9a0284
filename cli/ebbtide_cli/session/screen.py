"""How sessions are shown to people.

Names, reasons and summaries come from outside: nothing in them is obeyed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from ebbtide_cli.hand.look import DIGITS, ago, moment, position, show_facts, show_list, table
from ebbtide_cli.replay.view import safe
from ebbtide_cli.session.desk import Degraded, Seen, Version
from ebbtide_cli.session.difference import Difference
from ebbtide_core.breaker import BreakerState
from ebbtide_core.names import Owner
from ebbtide_core.store.forget import Forgotten
from ebbtide_core.store.results import Reviewed, StateView

TURNS_SHOWN: Final = 10
"""Degraded turns that `show` lists; the JSON has all."""

_KINDS: Final = {
    "state": "state",
    "rec": "records",
    "man": "manifests",
    "seg": "segments",
    "tally": "tally of jobs",
    "review": "review list",
    "memos": "list of memos",
}


def show_sessions(console: Console, sessions: Sequence[Seen], found: int) -> None:
    """Show a line for each session."""
    rows = table("tenant", "session", "idle", "turns", "newest", "breaker", "claim", "mode")
    for seen in sessions:
        view = seen.state.view
        rows.add_row(
            safe(seen.owner.tenant),
            safe(seen.owner.session_id),
            ago(seen.state.idle),
            f"{view.turns:,}",
            f"v{view.newest.number}" if view.newest.number else "-",
            view.breaker.value,
            view.claim.stage.value if view.claim else "-",
            safe(view.mode or "-"),
        )
    show_list(console, rows, found, "sessions")


def show_degraded(console: Console, sessions: Sequence[Degraded], found: int) -> None:
    """Show a line for each session that had degraded turns."""
    rows = table("tenant", "session", "degraded", "last", "turn", "rung", "reason", "left out")
    for each in sessions:
        last = each.turns[0]
        rows.add_row(
            safe(each.owner.tenant), safe(each.owner.session_id), f"{len(each.turns):,}", *_turn_cells(last)
        )
    show_list(console, rows, found, "sessions with degraded turns")


def _turn_cells(reviewed: Reviewed) -> tuple[str, ...]:
    entry = reviewed.entry
    rung, reason = safe(entry.rung), safe(entry.reason)
    return moment(reviewed.at), f"{entry.turn:,}", rung, reason, f"{entry.omitted:,}"


def show_session(
    console: Console,
    seen: Seen,
    versions: Sequence[Version],
    tally: Mapping[str, int],
    turns: Sequence[Reviewed],
) -> None:
    """Show all that is known of a session, but for content."""
    show_facts(console, _facts(seen, tally))
    if versions:
        console.print()
        show_versions(console, versions)
    if turns:
        console.print(f"\n{len(turns):,} degraded turns listed for review")
        console.print(_turns_table(turns[:TURNS_SHOWN]))


def _facts(seen: Seen, tally: Mapping[str, int]) -> Iterable[tuple[str, str]]:
    state, view = seen.state, seen.state.view
    yield "session", f"{safe(seen.owner.tenant)} / {safe(seen.owner.session_id)}"
    yield "idle", ago(state.idle)
    yield "turns", f"{view.turns:,} counted"
    yield "generation", f"{view.generation} of life {safe(view.incarnation)}"
    yield "mode", safe(view.mode or "as hosts ask")
    yield "breaker", breaker_words(state)
    if view.split_brain:
        yield "split brain", "two hosts write different histories; no claims for now"
    yield "newest", f"version {view.newest.number}" if view.newest.number else "no version yet"
    if (claim := view.claim) is None:
        yield "claim", "none"
    else:
        what = f"{claim.stage.value}, {claim.urgency.value}, epoch {claim.epoch}"
        yield "claim", f"{what}, up to {position(claim.position)}, job {safe(claim.job_id)}"
    if tally:
        yield "jobs", ", ".join(f"{safe(event)} {times:,}" for event, times in sorted(tally.items()))


def breaker_words(state: StateView) -> str:
    """Return a session's breaker in words."""
    words = f"{state.view.breaker.value}, {state.failures} failures in a row"
    if state.view.breaker is not BreakerState.OPEN:
        return words
    since = "" if state.seconds_open is None else f" and {ago(state.seconds_open)}"
    return f"{words}, {state.turns_open} counted turns{since} since it opened"


def show_versions(console: Console, versions: Sequence[Version]) -> None:
    """Show a line for each kept version."""
    if not versions:
        console.print("No version is kept.")
        return
    rows = table("version", "up to", "tokens", "kind", "flags", "summariser", "created", "job")
    for version in versions:
        rows.add_row(*_version_cells(version))
    console.print(rows)
    for version in versions:
        if version.record is None:
            console.print(f"[red]version {version.header.version}[/]: {safe(version.problem)}")


def _version_cells(version: Version) -> tuple[str, ...]:
    header, record = version.header, version.record
    first = (f"v{header.version}", position(header.position))
    if record is None:
        return (*first, "-", "-", "withdrawn" if header.withdrawn else "", "-", "-", "-")
    flags = {"withdrawn": header.withdrawn, "degraded": record.degraded}
    summariser = record.summariser
    return (
        *first,
        f"{record.source_tokens:,} → {record.summary_tokens:,}",
        record.kind.value,
        " ".join(name for name, holds in flags.items() if holds),
        safe(" ".join(filter(None, (summariser.name, summariser.model)))),
        moment(record.created_at),
        safe(record.job_id[:DIGITS]),
    )


def _turns_table(turns: Sequence[Reviewed]) -> Table:
    rows = table("at", "turn", "rung", "reason", "left out", "tokens", "window", "model")
    for turn in turns:
        entry = turn.entry
        tokens = f"{entry.projected:,} → {entry.sent:,}"
        rows.add_row(*_turn_cells(turn), tokens, f"{entry.window:,}", safe(entry.model))
    return rows


def show_difference(console: Console, earlier: int, later: int, found: Difference) -> None:
    """Show what a later summary gained and lost, its texts as unified diffs."""
    console.print(f"version {earlier} → version {later}")
    if found.nothing:
        console.print("The summaries say the same.")
    for text in found.texts:
        console.print(f"\n[bold]{text.field}[/]")
        for line in text.lines():
            _show_line(console, line[:1], line[1:])
    for each in found.lists:
        console.print(f"\n[bold]{each.field}[/]")
        for sign, items in (("-", each.lost), ("+", each.gained)):
            for item in items:
                _show_line(console, sign, f" {item}")


def _show_line(console: Console, sign: str, text: str) -> None:
    colour = {"-": "red", "+": "green", "@": "cyan"}.get(sign)
    line = f"{sign}{safe(text)}"
    console.print(f"[{colour}]{line}[/]" if colour else line, soft_wrap=True)


def show_forgotten(console: Console, owner: Owner, gone: Forgotten) -> None:
    """Show what was removed by kind, and what a look afterwards found."""
    whose = f"{safe(owner.tenant)} / {safe(owner.session_id)}"
    console.print(f"Removed of {whose}:" if gone.anything else f"Nothing was there of {whose}.")
    counts = {_KINDS.get(kind, kind): times for kind, times in sorted(gone.keys.items())}
    counts |= {"memos": gone.memos, "ready jobs": gone.ready, "running jobs": gone.running}
    for name, times in counts.items():
        if times:
            console.print(f"  {times:>6,}  {safe(name)}")
    left = gone.left
    colour = "green" if left.nothing else "red"
    told = f"{left.keys:,} keys, {left.memos:,} memos, {left.mentions:,} entries of the index"
    console.print(f"[{colour}]Left after a second look: {told}.[/]")
    if not left.nothing:
        console.print("A host goes on with the session: end it there, then forget it again.")
