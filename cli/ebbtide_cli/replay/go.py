"""Carries a replay out: read, open a pool, drive, show, write."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from ebbtide_cli.codec import named_codec
from ebbtide_cli.live.follower import follower
from ebbtide_cli.live.view import LiveView
from ebbtide_cli.replay.drive import NEUTRAL_MODEL
from ebbtide_cli.replay.pool import urls_of_pool
from ebbtide_cli.replay.reader import read_files
from ebbtide_cli.replay.report import write_report
from ebbtide_cli.replay.rig import Rig, rigged
from ebbtide_cli.replay.run import Options, Replay, Result
from ebbtide_cli.replay.screen import Screen
from ebbtide_cli.replay.shell import commanded
from ebbtide_cli.replay.swaps import SwapsFile
from ebbtide_cli.replay.transcript import Fault, Transcript
from ebbtide_cli.replay.view import PlainView, QuietView, problem_line
from ebbtide_cli.settings import EXTRACTIVE, Settings
from ebbtide_core.errors import InputError
from ebbtide_core.names import checked_name
from ebbtide_core.policy import Policy


@dataclass(frozen=True, slots=True)
class Wanted:
    """The flags that say how transcripts are replayed; None: the documented default."""

    context_window: int
    soft: float | None = None
    hard: float | None = None
    keep_recent_tokens: int | None = None
    max_tokens: int | None = None
    wait_budget: float | None = None
    model: str | None = None
    jobs: int = 8
    pace: float = 0.05

    def options(self, summariser: str) -> Options:
        """Return the options of a replay. Raises BadParameter for figures that go not together."""
        given: dict[str, Any] = {
            "soft": self.soft,
            "hard": self.hard,
            "keep_recent_tokens": self.keep_recent_tokens,
            "wait_budget": self.wait_budget,
        }
        try:
            policy = Policy(summariser=summariser, **{k: v for k, v in given.items() if v is not None})
            model = checked_name(self.model, "model") if self.model else NEUTRAL_MODEL
        except ValidationError as error:
            wrong = (e["msg"] for e in error.errors(include_url=False))
            raise typer.BadParameter("; ".join(wrong)) from None
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
        return Options(
            context_window=self.context_window,
            policy=policy,
            tenant=f"replay-{secrets.token_hex(6)}",
            max_tokens=self.max_tokens,
            model=model,
            jobs=self.jobs,
            pace=self.pace,
        )


def replay(
    files: Sequence[Path],
    wanted: Wanted,
    settings: Settings,
    *,
    json_file: Path | None,
    swaps_out: Path | None,
    quiet: bool,
) -> None:
    """Replay the files and show what happened. Ends the command with its exit code."""
    settings = _with_summariser(settings)
    options = wanted.options(settings.summariser)
    screen = Screen.opened(json_file, quiet=quiet)
    with commanded(screen.console):
        result = _replayed(files, options, settings, screen, swaps_out)
        if json_file is not None:
            write_report(result, json_file)
    raise typer.Exit(exit_code(result))


def _with_summariser(settings: Settings) -> Settings:
    """A pool for itself summarises without a model unless told otherwise; a given pool as its workers do."""
    if settings.summariser or settings.given_urls:
        return settings
    return settings.model_copy(update={"summariser": EXTRACTIVE})


def _replayed(
    files: Sequence[Path], options: Options, settings: Settings, screen: Screen, swaps_out: Path | None
) -> Result:
    found = read_files(files)
    for problem in found.problems:
        screen.console.print(problem_line(problem), soft_wrap=True)
    if not found.transcripts:
        screen.console.print("Nothing to replay.")
        return Result((), found.problems)
    with ExitStack() as stack:
        swaps = stack.enter_context(SwapsFile(swaps_out)) if swaps_out else None
        state, broker = stack.enter_context(urls_of_pool(settings, screen.motion))
        rig = stack.enter_context(rigged(state, broker, options.policy, named_codec(settings.codec)))
        view = _view(screen, found.transcripts, rig, options)
        stack.enter_context(view)
        driven = Replay(rig, options, view, swaps).run(found.transcripts)
    result = replace(driven, problems=(*found.problems, *driven.problems))
    screen.show(result)
    return result


def _view(
    screen: Screen, transcripts: Sequence[Transcript], rig: Rig, options: Options
) -> QuietView | LiveView:
    if screen.quiet:
        return QuietView(screen.console)
    if not screen.live:
        return PlainView(screen.console, transcripts)
    return LiveView(screen.console, follower(transcripts, rig, options))


def exit_code(result: Result) -> int:
    """Return 1 when nothing was replayed, or something is wrong that never may be, else 0."""
    crashed = any(problem.kind is Fault.CRASHED for problem in result.problems)
    wrong = sum(f.invalid_requests + f.uncovered_messages for _, f in result.sessions)
    return int(crashed or bool(wrong) or not result.sessions)
