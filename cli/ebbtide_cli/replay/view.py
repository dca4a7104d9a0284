"""What a replay shows: a progress bar on a terminal or plain lines elsewhere, and tables at the end."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import PurePath
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.figures import Figures, total
from ebbtide_cli.replay.run import Result
from ebbtide_cli.replay.transcript import Problem, Transcript

ROWS: Final = 15
FAULTS: Final = 5
"""Up to so many sessions have a row each, more are summed by file; so many different faults are shown."""


class PlainView:
    """A line for each session that ends."""

    def __init__(self, console: Console, transcripts: Sequence[Transcript]) -> None:
        self._console = console
        self._all = len(transcripts)
        self._numbers = count(1)

    def before_turn(self, transcript: Transcript) -> None:
        """Show nothing."""

    def stepped(self, transcript: Transcript, step: Step) -> None:
        """Show nothing."""

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """Show the session's figures."""
        f = figures
        self._console.print(
            f"{next(self._numbers)}/{self._all}  {escape(transcript.id)}  {f.turns} turns, "
            f"{f.versions_published} versions, {f.swaps} swaps, "
            f"peak {f.peak_projected_tokens:,} of {f.context_window:,} tokens",
            soft_wrap=True,
        )

    def failed(self, transcript: Transcript, problem: Problem) -> None:
        """Show the problem."""
        next(self._numbers)
        self._console.print(problem_line(problem), soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show nothing more."""


class ProgressView:
    """A bar over all turns; only problems have lines."""

    def __init__(self, console: Console, transcripts: Sequence[Transcript]) -> None:
        turns = sum(m["role"] == "assistant" for t in transcripts for m in t.messages)
        self._progress = Progress(
            TextColumn("Replaying"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("turns  {task.fields[told]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._lock = threading.Lock()
        self._sessions, self._ended, self._swaps = len(transcripts), 0, 0
        self._task = self._progress.add_task("", total=turns, told="")
        self._advance()

    def _advance(self, turns: int = 0, swaps: int = 0, ended: int = 0) -> None:
        with self._lock:
            self._swaps += swaps
            self._ended += ended
            told = f"{self._ended}/{self._sessions} sessions  {self._swaps} swaps"
            self._progress.update(self._task, advance=turns, told=told)

    def before_turn(self, transcript: Transcript) -> None:
        """Show nothing."""

    def stepped(self, transcript: Transcript, step: Step) -> None:
        """Move the bar."""
        self._advance(turns=1, swaps=step.turn.swap is not None)

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """Count the session."""
        self._advance(ended=1)

    def failed(self, transcript: Transcript, problem: Problem) -> None:
        """Count the session and show the problem."""
        self._advance(ended=1)
        self._progress.console.print(problem_line(problem), soft_wrap=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


def problem_line(problem: Problem) -> str:
    """Return a problem in Rich's markup."""
    place = f", line {problem.line}" if problem.line else ""
    times = f" ({problem.count} times, the first told)" if problem.count > 1 else ""
    return f"[yellow]{problem.kind.value}[/]  {safe(problem.file)}{place}: {safe(problem.detail)}{times}"


def safe(text: str) -> str:
    """Return a text from outside so that a terminal shows it and obeys nothing in it."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape(shown)


def show_result(console: Console, result: Result) -> None:
    """Show the tables of a whole replay, and what the hosts had to work around."""
    if result.sessions:
        console.print(_table(result.sessions, console.width))
        console.print()
        console.print(_totals(total(f for _, f in result.sessions), len(result.sessions)))
    for fault, times in result.faults.most_common(FAULTS):
        console.print(f"[yellow]fault[/]  {times} times: {safe(fault)}", soft_wrap=True)


_COLUMNS: Final = {
    "turns": 6,
    "peak": 8,
    "jobs": 5,
    "versions": 8,
    "swaps": 5,
    "degraded": 8,
    "p99 ms": 7,
}
"""The columns of figures and how wide they are."""


def _table(sessions: Sequence[tuple[Transcript, Figures]], width: int) -> Table:
    single = len(sessions) <= ROWS
    table = Table(box=None, padding=(0, 1), header_style="bold")
    rest = width - sum(_COLUMNS.values()) - 2 * len(_COLUMNS) - 2
    table.add_column(
        "session" if single else "file", overflow="ellipsis", no_wrap=True, max_width=max(12, rest)
    )
    for name, wide in _COLUMNS.items():
        table.add_column(name, justify="right", no_wrap=True, min_width=wide)
    rows = [(t.id, f) for t, f in sessions] if single else _by_file(sessions)
    for name, f in rows:
        table.add_row(escape(name), *_cells(f))
    return table


def _by_file(sessions: Sequence[tuple[Transcript, Figures]]) -> list[tuple[str, Figures]]:
    files: defaultdict[str, list[Figures]] = defaultdict(list)
    for transcript, figures in sessions:
        files[transcript.file].append(figures)
    return [(PurePath(name).name, total(found)) for name, found in files.items()]


def _cells(f: Figures) -> list[str]:
    stall = f"{f.to_json()['stall_ms']['p99']:,.0f}"
    counts = (
        f.turns,
        f.peak_projected_tokens,
        f.jobs_enqueued,
        f.versions_published,
        f.swaps,
        f.degraded_turns,
    )
    return [*(f"{n:,}" for n in counts), stall]


def _totals(f: Figures, sessions: int) -> Table:
    stall = f.to_json()["stall_ms"]
    rejected = ", ".join(f"{n} {reason}" for reason, n in sorted(f.rejected.items())) or "none"
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, text in (
        (
            "Turns",
            f"{f.turns:,} in {sessions:,} session{'s' * (sessions != 1)}; {f.degraded_turns:,} degraded, "
            f"{f.unfittable_turns:,} unfittable",
        ),
        (
            "Summaries",
            f"{f.jobs_enqueued:,} jobs, {f.versions_published:,} versions, {f.swaps:,} swaps; rejected: "
            f"{rejected}",
        ),
        ("Requests", f"{f.requests_over_window:,} over the window, {_bad(f.invalid_requests)} invalid"),
        (
            "Messages",
            f"{_bad(f.uncovered_messages)} lost uncovered; "
            f"{f.declared_omitted_messages:,} left out of views, all declared",
        ),
        (
            "Stall",
            f"median {stall['p50']:,.1f} ms, p99 {stall['p99']:,.1f} ms, longest {stall['max']:,.0f} ms",
        ),
    ):
        table.add_row(name, text)
    return table


def _bad(count: int) -> str:
    return f"[bold red]{count:,}[/]" if count else "0"
