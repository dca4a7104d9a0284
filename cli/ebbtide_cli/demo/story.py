"""Tells a replay of one session, line by line: turns that matter, jobs, versions, swaps."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

from rich.console import Console

from ebbtide_cli.live.event import STYLES, Event, Kind
from ebbtide_cli.live.follower import Follower
from ebbtide_cli.live.level import Level, Zone
from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.transcript import Problem, Transcript
from ebbtide_cli.replay.view import problem_line, safe

EVERY: Final = 5
"""Of turns at which nothing happens, each so many is told."""

_BAR: Final = 16
_ZONES: Final = {Zone.BELOW: "dim", Zone.SOFT: "yellow", Zone.HARD: "red"}
_ALARMS: Final = frozenset({Kind.DEGRADED, Kind.UNFITTABLE})


class StoryView:
    """Tells events as they happen."""

    def __init__(self, console: Console, follower: Follower) -> None:
        self._console = console
        self._follower = follower

    def resting(self, transcript: Transcript) -> None:
        """Tell what happened outside the host."""
        tell(self._console, self._follower.resting(transcript))

    def before_turn(self, transcript: Transcript) -> None:
        """Tell what happened since the last turn."""
        tell(self._console, self._follower.before_turn(transcript))

    def stepped(self, transcript: Transcript, step: Step) -> None:
        """Tell of the turn when it matters."""
        tell(self._console, self._follower.stepped(transcript, step))

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """Tell nothing: the tables follow."""

    def failed(self, transcript: Transcript, problem: Problem) -> None:
        """Tell the problem."""
        self._console.print(problem_line(problem))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell nothing more."""


def tell(console: Console, events: Iterable[Event]) -> None:
    """Print a line for each event, as far as it matters."""
    for event in events:
        if event.kind is not Kind.KEPT or not event.turn % EVERY:
            console.print(line(event), highlight=False)


def line(event: Event) -> str:
    """Return an event in Rich's markup."""
    style = STYLES[event.kind]
    if event.level is None:
        return f"{'':8}[{style}]{event.kind.value:>8}[/]  {safe(event.text)}"
    text = safe(event.text) if event.kind not in _ALARMS else f"{event.kind.value}: {safe(event.text)}"
    told = f"[{style}]{text}[/]" if event.kind in _ALARMS | {Kind.KEPT} else text
    return f"turn {event.turn:>3}  {_bar(event.level)}  {told}"


def _bar(level: Level) -> str:
    filled = min(_BAR, round(level.share * _BAR))
    bar = f"[{_ZONES[level.zone]}]{'█' * filled}[/][dim]{'·' * (_BAR - filled)}[/]"
    return f"{bar} {level.projected:>7,} {level.share:>4.0%}"
