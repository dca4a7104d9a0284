"""What a run tells people: tables of what happened, the goals, and the laws that are broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.report import Cell, Goal, Result
from rich.console import Console
from rich.markup import escape

from chaos.figures import Figures
from chaos.outages import BUDGET, MOST, P99, Outages
from chaos.recovery import PROMISED

SHOWN = 8
"""Of what breaks a law: the first of it."""


def happened(found: Figures) -> Result:
    """Return the table of what happened, with the goals."""
    rows: list[tuple[Cell, ...]] = [
        ("faults", sum(found.faults.values())),
        ("workers and hosts ended or stopped", found.kills),
        ("servers ended and started again", found.restarts),
        ("turns", found.turns),
        ("degraded turns", found.degraded),
        ("versions published", found.published),
        ("versions swapped in", found.swaps),
        ("jobs put back after a lost lease", found.put_back),
        *((f"publications refused: {why}", times) for why, times in sorted(found.refused.items())),
        *((f"attempts ended: {how}", times) for how, times in found.attempts.items()),
        ("calls of the model", found.calls),
        ("of these for text paid before", found.paid_again),
        ("their tokens", found.tokens),
    ]
    return Result(
        "happened",
        "What happened",
        ("what", "times"),
        tuple(rows),
        (*_goals(found), _flow(found)),
        _notes(found),
    )


def recovery(found: Figures) -> Result:
    """Return the table of recovery by kind of fault."""
    rows = [(name, s.times, round(s.median, 2), round(s.most, 2)) for name, s in found.recovery.items()]
    return Result(
        "recovery",
        "From the end of a fault to the next publication",
        ("fault", "times", "median s", "max s"),
        tuple(rows),
        notes=("Faults overlap: what is told of one may be due to another. The probe adds up to 0.4 s.",),
    )


def _goals(found: Figures) -> list[Goal]:
    return [
        Goal(
            f"prepare while the {name} is frozen or gone, waiting for a record left out",
            f"p99 at most {P99:.2f} s, max at most {MOST:.2f} s",
            f"p99 {away.p99:.3f} s, max {away.most:.3f} s in {away.turns} turns",
            away.kept,
        )
        for name, away in _away(found).items()
    ]


def _away(found: Figures) -> Mapping[str, Outages]:
    return {"store": found.store_away, "broker": found.broker_away}


def _flow(found: Figures) -> Goal:
    return Goal(
        "jobs flow again once a server is back, nothing restarted",
        f"within {PROMISED:g} s",
        f"{found.alone - found.late} of {found.alone} times that it came alone",
        found.late == 0,
    )


def _notes(found: Figures) -> tuple[str, ...]:
    return (
        f"io_budget is {BUDGET} s. First turns of a process, and turns of a stopped host, are left out.",
        f"Different faults: {len(found.faults)}.",
    )


def show_laws(names: Sequence[str], broken: Mapping[str, Sequence[str]], console: Console) -> None:
    """Print each law, whether it holds, and the first things that break it."""
    for name in names:
        sentences = broken.get(name, ())
        verdict = "[red]broken[/]" if sentences else "[green]holds[/] "
        console.print(f"  {verdict} {escape(name)}", highlight=False)
        for sentence in sentences[:SHOWN]:
            console.print(f"         {escape(sentence)}", highlight=False, soft_wrap=True)
        if len(sentences) > SHOWN:
            console.print(f"         and {len(sentences) - SHOWN} more", highlight=False)
