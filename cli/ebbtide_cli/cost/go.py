"""Carries `ebbtide cost` out: read, count, play, show, write."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import track

from ebbtide_cli.cost.comparison import Comparison, compared, comparison_json, outcome_json
from ebbtide_cli.cost.counted import counted
from ebbtide_cli.cost.play import Prices
from ebbtide_cli.cost.rates_file import read_rates
from ebbtide_cli.cost.table import show
from ebbtide_cli.cost.ways import Outcomes, Plan
from ebbtide_cli.replay.reader import read_files
from ebbtide_cli.replay.report import STDOUT
from ebbtide_cli.replay.screen import Screen
from ebbtide_cli.replay.shell import commanded
from ebbtide_cli.replay.transcript import Fault, Problem, Transcript
from ebbtide_cli.replay.view import problem_line, safe
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.economy.rates import NOMINAL, rates_for
from ebbtide_core.errors import InputError
from ebbtide_core.policy import Policy


@dataclass(frozen=True, slots=True)
class Wanted:
    """The flags that say what is compared; None: the documented default."""

    windows: tuple[int, ...]
    model: str
    summariser_model: str
    rates: Path | None = None
    summary_tokens: int | None = 300
    job_turns: int = 1
    soft: float | None = None
    hard: float | None = None
    swap_ratio: float | None = None
    keep_recent_tokens: int | None = None
    max_tokens: int | None = None

    def plan(self) -> Plan:
        """Return the plan. Raises BadParameter for figures that go not together and rates that can't be
        read."""
        names = ("soft", "hard", "swap_ratio", "keep_recent_tokens", "max_tokens")
        given: dict[str, Any] = {n: getattr(self, n) for n in names if getattr(self, n) is not None}
        try:
            policy = Policy(**given)
        except ValidationError as error:
            raise typer.BadParameter("; ".join(e["msg"] for e in error.errors(include_url=False))) from None
        table = read_rates(self.rates)
        prices = Prices(rates_for(self.model, table), rates_for(self.summariser_model, table))
        return Plan(self.windows, prices, policy, self.summary_tokens, self.job_turns)


@dataclass(frozen=True, slots=True)
class Costs:
    """What each session costs (its id, its outcomes), and what could not be read."""

    sessions: tuple[tuple[str, Outcomes], ...]
    problems: tuple[Problem, ...]


def cost(files: Sequence[Path], wanted: Wanted, *, json_file: Path | None, quiet: bool) -> None:
    """Price the files and show the comparison. Ends the command with its exit code."""
    plan = wanted.plan()
    screen = Screen.opened(json_file, quiet=quiet)
    with commanded(screen.console):
        costs = priced(files, wanted.model, plan, screen.motion)
        for problem in costs.problems:
            screen.console.print(problem_line(problem), soft_wrap=True)
        found = [compared(costs.sessions, window) for window in plan.windows]
        if not (quiet and json_file):
            _show(screen.console, wanted, plan, found, brief=quiet)
        if json_file is not None:
            _write(_report(wanted, plan, costs, found), json_file)
    raise typer.Exit(int(not costs.sessions))


def priced(files: Sequence[Path], model: str, plan: Plan, console: Console) -> Costs:
    """Return the costs of all transcripts of the files; `console` shows how far it is."""
    found = read_files(files)
    sessions, problems = [], list(found.problems)
    for transcript in track(found.transcripts, "Playing sessions", console=console, transient=True):
        try:
            sessions.append((transcript.id, _outcomes(transcript, model, plan)))
        except InputError as error:
            problems.append(Problem(transcript.file, transcript.line, Fault.REFUSED, str(error)))
    return Costs(tuple(sessions), tuple(problems))


def _outcomes(transcript: Transcript, model: str, plan: Plan) -> Outcomes:
    return plan.outcomes(*counted(transcript, model, tokenizer()))


def _show(console: Console, wanted: Wanted, plan: Plan, found: Sequence[Comparison], *, brief: bool) -> None:
    for name, rates in ((wanted.model, plan.prices.host), (wanted.summariser_model, plan.prices.summariser)):
        if rates in NOMINAL:
            console.print(
                f"[yellow]no prices[/] of {safe(name)} are known: its dollars only compare, give --rates",
                soft_wrap=True,
            )
    for one in found:
        if one.sessions:
            show(console, one, brief=brief)
    if not any(one.sessions for one in found):
        console.print("Nothing to price.")


def _report(wanted: Wanted, plan: Plan, costs: Costs, found: Sequence[Comparison]) -> dict[str, Any]:
    return {
        "model": wanted.model,
        "summariser_model": wanted.summariser_model,
        "rates": {"model": asdict(plan.prices.host), "summariser": asdict(plan.prices.summariser)},
        "summary_tokens": plan.summary_tokens,
        "job_turns": plan.job_turns,
        "windows": [comparison_json(one) for one in found],
        "sessions": [
            {
                "id": name,
                "windows": [
                    {"context_window": window, "way": way.value, **outcome_json(outcome)}
                    for (window, way), outcome in outcomes.items()
                ],
            }
            for name, outcomes in costs.sessions
        ],
        "problems": [asdict(problem) for problem in costs.problems],
    }


def _write(document: dict[str, Any], path: Path) -> None:
    """Write the report; `-` is stdout. Raises OSError."""
    text = json.dumps(document, indent=2) + "\n"
    if path == STDOUT:
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8")
