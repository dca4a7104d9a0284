"""Carries the demo out."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import typer

from ebbtide_cli.codec import named_codec
from ebbtide_cli.demo.session import session
from ebbtide_cli.demo.story import StoryView, tell
from ebbtide_cli.live.follower import follower
from ebbtide_cli.live.view import LiveView
from ebbtide_cli.replay.pool import urls_of_pool
from ebbtide_cli.replay.report import write_report
from ebbtide_cli.replay.rig import Rig, rigged
from ebbtide_cli.replay.run import Options, Replay, Result
from ebbtide_cli.replay.screen import Screen
from ebbtide_cli.replay.shell import commanded
from ebbtide_cli.replay.transcript import Transcript
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


def demo(pace: float, json_file: Path | None, *, quiet: bool) -> None:
    """Replay the session and show what happens. Ends the command with its exit code."""
    screen = Screen.opened(json_file, quiet=quiet)
    with commanded(screen.console):
        result = _replayed(screen, pace)
        if json_file is not None:
            write_report(result, json_file)
    swaps = sum(figures.swaps for _, figures in result.sessions)
    if swaps < LEAST_SWAPS:
        screen.console.print(f"[red]Only {swaps} swaps, {LEAST_SWAPS} expected.[/] See `ebbtide doctor`.")
    raise typer.Exit(int(swaps < LEAST_SWAPS))


def _replayed(screen: Screen, pace: float) -> Result:
    story = session()
    options = Options(WINDOW, POLICY, TENANT, model=MODEL, jobs=1, pace=pace)
    settings = Settings.read(state="", broker="", summariser=EXTRACTIVE, concurrency=2)
    screen.talk.print(introduction(story))
    with ExitStack() as stack:
        state, broker = stack.enter_context(urls_of_pool(settings, screen.motion))
        rig = stack.enter_context(rigged(state, broker, options.policy, named_codec(settings.codec)))
        result = _told(screen, story, rig, options)
    screen.talk.print()
    screen.show(result)
    return result


def introduction(story: Transcript) -> str:
    """Return what is said before the session begins."""
    return (
        f"An invented coding session of {len(story.messages)} messages in a window of {WINDOW:,} tokens.\n"
        "Soft (70 %) asks for a compaction, hard (95 %) must not be passed.\n"
    )


def _told(screen: Screen, story: Transcript, rig: Rig, options: Options) -> Result:
    """Replay the session while its events are shown; a terminal keeps the lines that others get at once."""
    events = follower([story], rig, options)
    view: StoryView | LiveView
    view = LiveView(screen.console, events) if screen.live else StoryView(screen.talk, events)
    with view:
        result = Replay(rig, options, view).run([story])
    if screen.live:
        tell(screen.console, events.history())
    return result
