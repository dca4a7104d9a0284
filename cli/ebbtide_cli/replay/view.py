"""What a replay shows where it shows no live view: plain lines or problems only, and tables at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import PurePath
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.figures import Figures, total
from ebbtide_cli.replay.run import Result
from ebbtide_cli.replay.transcript import Problem, Transcript

ROWS: Final = 15
FAULTS: Final = 5
"""Up to so many sessions have a row each, more are summed by file; so many different faults are shown."""


class QuietView:
    """Problems only."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def resting(self, transcript: Transcript) -> None:
        """Show nothing."""

    def before_turn(self, transcript: Transcript) -> None:
        """Show nothing."""

    def stepped(self, transcript: Transcript, step: Step) -> None:
        """Show nothing."""

    def finished(self, transcript: Transcript, figures: Figures) -> None:
        """Show nothing."""

    def failed(self, transcript: Transcript, problem: Problem) -> None:
        """Show the problem."""
        self._console.print(problem_line(problem), soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Show nothing more."""


class PlainView(QuietView):
    """A line for each session that ends."""

    def __init__(self, console: Console, transcripts: Sequence[Transcript]) -> None:
        super().__init__(console)
        self._all = len(transcripts)
        self._numbers = count(1)

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
        """Show the problem, and count the session."""
        next(self._numbers)
        super().failed(transcript, problem)


def problem_line(problem: Problem) -> str:
    """Return a problem in Rich's markup."""
    place = f", line {problem.line}" if problem.line else ""
    times = f" ({problem.count} times, the first told)" if problem.count > 1 else ""
    return f"[yellow]{problem.kind.value}[/]  {safe(problem.file)}{place}: {safe(problem.detail)}{times}"


def degraded_line(transcript: Transcript, figures: Figures) -> str:
    """Return in Rich's markup that a session was degraded, and how often."""
    return (
        f"[red]degraded[/]  {safe(transcript.id)}: {figures.degraded_turns:,} of {figures.turns:,} turns, "
        f"{figures.unfittable_turns:,} unfittable"
    )


def shown(text: str) -> str:
    """Return a text from outside so that a terminal shows it and obeys nothing in it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def safe(text: str) -> str:
    """Return a text from outside so that neither a terminal nor Rich's markup obeys anything in it."""
    return escape(shown(text))


def show_result(console: Console, result: Result) -> None:
    """Show the tables of a whole replay, and what the hosts had to work around."""
    if result.sessions:
        console.print(_table(result.sessions, console.width))
        console.print()
        show_totals(console, result)
    show_faults(console, result)


def show_totals(console: Console, result: Result) -> None:
    """Show the sums over all sessions, if there are any."""
    if result.sessions:
        console.print(_totals(total(f for _, f in result.sessions), len(result.sessions)))


def show_faults(console: Console, result: Result) -> None:
    """Show what the hosts had to work around."""
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
