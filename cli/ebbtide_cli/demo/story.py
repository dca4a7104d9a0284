"""Shows a replay of one session as it happens: turns that matter, jobs, versions, swaps."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.markup import escape

from ebbtide.turn import Report, Swapped
from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.ending import Watcher
from ebbtide_cli.replay.figures import Figures
from ebbtide_cli.replay.transcript import Problem, Transcript
from ebbtide_cli.replay.view import problem_line
from ebbtide_core.decide import Action
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.names import Owner
from ebbtide_core.store.tally_calls import ENQUEUED

EVERY: Final = 5
"""Of turns at which nothing happens, each so many is shown."""

_BAR: Final = 16


class StoryView:
    """Tells one session, line by line; the watcher shows what happens outside the host."""

    def __init__(self, console: Console, watcher: Watcher, tenant: str) -> None:
        self._console = console
        self._watcher = watcher
        self._tenant = tenant
        self._jobs = 0
        self._versions = 0

    def before_turn(self, transcript: Transcript) -> None:
        """Tell what happened since the last turn."""
        self._news(transcript)

    def _news(self, transcript: Transcript) -> None:
        """Tell of jobs and versions that are new."""
        owner = Owner.of(self._tenant, transcript.id)
        try:
            jobs = self._watcher.tally(owner).get(ENQUEUED, 0)
            view = self._watcher.look(owner)
        except StoreUnavailable:
            return
        for number in range(self._jobs + 1, jobs + 1):
            self._event("job", f"{number} is in the queue; the host goes on")
        for header in view.headers:
            if header.version > self._versions:
                self._event(
                    "version",
                    f"{header.version} published: stands for the first {header.position.count} messages",
                )
        self._jobs, self._versions = jobs, view.newest.number

    def stepped(self, transcript: Transcript, step: Step) -> None:
        """Tell of the turn when it matters."""
        report, swap = step.turn.report, step.turn.swap
        if report.waited:
            self._news(transcript)
        quiet = report.action is Action.KEEP and not report.degraded and swap is None
        if quiet and step.number % EVERY:
            return
        self._console.print(f"{_turn(step.number, report)}  {_what(report, step)}", highlight=False)
        if swap is not None:
            self._event("swap", _swapped(report, swap))

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """Show nothing: the tables follow."""

    def failed(self, transcript: Transcript, problem: Problem) -> None:
        """Show the problem."""
        self._console.print(problem_line(problem))

    def _event(self, what: str, text: str) -> None:
        colour = {"job": "yellow", "version": "cyan", "swap": "green"}[what]
        self._console.print(f"{'':8}[{colour}]{what:>8}[/]  {escape(text)}", highlight=False)


def _turn(number: int, report: Report) -> str:
    share = report.projected / report.context_window
    colour = (
        "red" if report.projected >= report.hard else "yellow" if report.projected >= report.soft else "dim"
    )
    filled = min(_BAR, round(share * _BAR))
    bar = f"[{colour}]{'█' * filled}[/][dim]{'·' * (_BAR - filled)}[/]"
    return f"turn {number:>3}  {bar} {report.projected:>7,} {share:>4.0%}"


def _what(report: Report, step: Step) -> str:
    if step.unfittable:
        return "[red]fits no window[/]"
    if report.degraded:
        return f"[red]degraded: {report.rung}[/]"
    if report.action is Action.KEEP and report.projected >= report.soft:
        return f"over soft: {report.reason.value.replace('_', ' ')}"
    words = {
        Action.KEEP: "[dim]buffer sent as it is[/]",
        Action.ENQUEUE: "over soft: a summary is asked for",
        Action.SWAP: "a record is ready",
        Action.WAIT: "at hard: waiting for a record",
    }
    waited = f", waited {report.waited:.1f} s" if report.waited else ""
    return words.get(report.action, report.action.value) + waited


def _swapped(report: Report, swap: Swapped) -> str:
    told = f"{swap.removed} messages became summary {swap.version}, {swap.record.summary_tokens:,} tokens"
    return f"{told}: {report.projected:,} → {report.sent:,}"
