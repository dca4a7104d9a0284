"""Carries the demo out."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import typer
from rich.console import Console

from ebbtide_cli.demo.session import session
from ebbtide_cli.demo.story import StoryView
from ebbtide_cli.replay.pool import urls_of_pool
from ebbtide_cli.replay.report import STDOUT, write_report
from ebbtide_cli.replay.rig import rigged
from ebbtide_cli.replay.run import Options, Replay, Result
from ebbtide_cli.replay.shell import commanded
from ebbtide_cli.replay.view import show_result
from ebbtide_cli.settings import EXTRACTIVE, Settings
from ebbtide_core.policy import Policy

WINDOW: Final = 24_000
POLICY: Final = Policy(keep_recent_tokens=4_000, summariser=EXTRACTIVE)
MODEL: Final = "claude-demo"
TENANT: Final = "demo"
LEAST_SWAPS: Final = 3
"""A small window and a short tail, so that a session of 80 messages is compacted again and again."""


def write_session(path: Path) -> None:
    """Write the session as one line that `ebbtide replay` reads."""
    story = session()
    line = {
        "id": story.id,
        "format": story.format,
        "system": story.system,
        "tools": story.tools,
        "messages": story.messages,
    }
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")


def demo(pace: float, json_file: Path | None) -> None:
    """Replay the session and show what happens. Ends the command with its exit code."""
    console = Console(stderr=json_file == STDOUT, highlight=False)
    with commanded(console):
        result = _replayed(console, pace)
        if json_file is not None:
            write_report(result, json_file)
    swaps = sum(figures.swaps for _, figures in result.sessions)
    if swaps < LEAST_SWAPS:
        console.print(f"[red]Only {swaps} swaps, {LEAST_SWAPS} expected.[/] See `ebbtide doctor`.")
    raise typer.Exit(int(swaps < LEAST_SWAPS))


def _replayed(console: Console, pace: float) -> Result:
    story = session()
    options = Options(WINDOW, POLICY, TENANT, model=MODEL, jobs=1, pace=pace)
    settings = Settings.read(state="", broker="", summariser=EXTRACTIVE, concurrency=2)
    console.print(
        f"An invented coding session of {len(story.messages)} messages in a window of {WINDOW:,} tokens.\n"
        "Soft (70 %) asks for a compaction, hard (95 %) must not be passed.\n"
    )
    with ExitStack() as stack:
        state, broker = stack.enter_context(urls_of_pool(settings, console))
        rig = stack.enter_context(rigged(state, broker, options.policy))
        result = Replay(rig, options, StoryView(console, rig.watcher, TENANT)).run([story])
    console.print()
    show_result(console, result)
    return result
