"""`ebbtide cost`: its flags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.replay import command as replaying

DEFAULT_WINDOWS: Final = (32_000, 64_000, 200_000)
HOST_MODEL: Final = "claude-sonnet-5-5"
SUMMARISER_MODEL: Final = "claude-haiku-5-5"
SUMMARY_TOKENS: Final = 300

EPILOG: Final = (
    "Example:  ebbtide cost --context-window 64000 --model claude-opus-5-5 session.jsonl\n\n"
    "Each session is played under five ways: never compacting; [b]reactive[/b], which waits for a summary "
    "at 95 % of the window; [b]newest ten[/b], which does at 70 % and keeps so many messages; Ebbtide "
    "with every record swapped in [b]immediate[/b]ly; and [b]cost-aware[/b], as it is. Nothing is called "
    "and nothing is sent. Exit code 1: there was nothing to price."
)

Windows = Annotated[
    list[int],
    typer.Option("--context-window", metavar="N", min=1_000, help="Tokens; may be given several times"),
]
Model = Annotated[
    str, typer.Option("--model", metavar="NAME", help="The host's model: its tokens and its prices")
]
SummariserModel = Annotated[
    str, typer.Option("--summariser-model", metavar="NAME", help="The model that writes summaries")
]
RatesFile = Annotated[
    Path | None,
    typer.Option(
        "--rates",
        metavar="FILE",
        help='Further prices, $ a million tokens: {"name": {"input": 2, "output": 10, "cache_write": 2.5, '
        '"cache_read": 0.1}}',
    ),
]
SummaryTokens = Annotated[
    int, typer.Option("--summary-tokens", metavar="N", min=1, help="The size of every summary")
]
Extractive = Annotated[
    bool,
    typer.Option("--extractive", help="Size summaries as the extractive summariser writes them (slow)"),
]
JobTurns = Annotated[
    int,
    typer.Option("--job-turns", metavar="N", min=1, help="Turns from asking for a record until it is there"),
]
SwapRatio = Annotated[
    float | None,
    typer.Option(
        "--swap-ratio", metavar="R", help="Share of the window from which a record is always swapped in"
    ),
]


def cost(
    files: replaying.Files,
    context_window: Windows = list(DEFAULT_WINDOWS),  # noqa: B006  typer copies it
    model: Model = HOST_MODEL,
    summariser_model: SummariserModel = SUMMARISER_MODEL,
    rates: RatesFile = None,
    summary_tokens: SummaryTokens = SUMMARY_TOKENS,
    extractive: Extractive = False,
    job_turns: JobTurns = 1,
    soft: replaying.Soft = None,
    hard: replaying.Hard = None,
    swap_ratio: SwapRatio = None,
    keep_recent_tokens: replaying.Keep = None,
    max_tokens: replaying.MaxTokens = None,
    json: options.JsonFile = None,
    quiet: options.Quiet = False,
) -> None:
    """Price recorded sessions under several ways to compact them: what the provider bills, with its cache
    and without, and what summaries cost.
    """
    from ebbtide_cli.cost import go

    go.cost(
        files,
        go.Wanted(
            windows=tuple(dict.fromkeys(context_window)),
            model=model,
            summariser_model=summariser_model,
            rates=rates,
            summary_tokens=None if extractive else summary_tokens,
            job_turns=job_turns,
            soft=soft,
            hard=hard,
            swap_ratio=swap_ratio,
            keep_recent_tokens=keep_recent_tokens,
            max_tokens=max_tokens,
        ),
        json_file=json,
        quiet=quiet,
    )
