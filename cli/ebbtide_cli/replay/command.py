"""`ebbtide replay`: its flags, and how the parts play together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.settings import Settings

DEFAULT_WINDOW: Final = 32_000

EPILOG: Final = (
    "Example:  ebbtide replay --context-window 32000 --json figures.json session.jsonl\n\n"
    "Files are JSON lines of objects with [b]messages[/b] (and id, format, system, tools if there), a "
    "JSON array of "
    "messages, or Claude Code session logs. Exit code 1: nothing could be replayed, or a "
    "request was invalid, a message lost, a session crashed."
)

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Transcripts, plain or gzip")]
Window = Annotated[
    int,
    typer.Option("--context-window", metavar="N", min=1_000, help="Tokens; small ones show more compactions"),
]
Soft = Annotated[
    float | None, typer.Option("--soft", metavar="R", help="Share of the window that asks for a summary")
]
Hard = Annotated[
    float | None, typer.Option("--hard", metavar="R", help="Share of the window that no request may pass")
]
Keep = Annotated[
    int | None,
    typer.Option("--keep-recent-tokens", metavar="N", min=0, help="Newest messages kept as they are"),
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", metavar="N", min=1, help="Output that each request asks for")
]
WaitBudget = Annotated[
    float | None,
    typer.Option(
        "--wait-budget", metavar="SECONDS", min=0.0, help="Turns at hard may wait so long for a record"
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Whose tokens are estimated; none: counted as they are"),
]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=64, help="Transcripts side by side")]
SwapsOut = Annotated[
    Path | None,
    typer.Option("--swaps-out", metavar="FILE", help="Write each turn that changed something as a JSON line"),
]


def replay(
    files: Files,
    context_window: Window = DEFAULT_WINDOW,
    soft: Soft = None,
    hard: Hard = None,
    keep_recent_tokens: Keep = None,
    max_tokens: MaxTokens = None,
    wait_budget: WaitBudget = None,
    model: Model = None,
    jobs: Jobs = 8,
    pace: options.Pace = 0.05,
    summariser: options.SummariserName = None,
    state: options.State = None,
    broker: options.Broker = None,
    json: options.JsonFile = None,
    swaps_out: SwapsOut = None,
    quiet: options.Quiet = False,
) -> None:
    """Drive recorded sessions through a pool, as their host would have, and account for every turn.

    Without URLs it starts an embedded pool for itself, with the extractive summariser unless one is named.

    A terminal shows running sessions against both watermarks, a pipe gets a line for each that ended.
    """
    from ebbtide_cli.replay import go

    go.replay(
        files,
        go.Wanted(
            context_window=context_window,
            soft=soft,
            hard=hard,
            keep_recent_tokens=keep_recent_tokens,
            max_tokens=max_tokens,
            wait_budget=wait_budget,
            model=model,
            jobs=jobs,
            pace=pace,
        ),
        Settings.read(state=state, broker=broker, summariser=summariser),
        json_file=json,
        swaps_out=swaps_out,
        quiet=quiet,
    )
