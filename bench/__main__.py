"""`python -m bench`: run benchmarks, print their tables, write their JSON."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.machine import machine, sentence
from bench.report import Result, markdown, save, show

NAMES = ("prepare", "work", "extractive", "stall", "effort", "load", "outage", "fairness")
"""In the order in which they run: what is timed most finely comes first."""


def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help=f"Which ones: {', '.join(NAMES)}.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Small sizes: shows that it runs, not how fast.")] = False,
    json_folder: Annotated[Path, typer.Option("--json", help="Folder for the JSON files.")] = Path(
        ".cache/bench"
    ),
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
) -> None:
    """Run benchmarks one after the other. Each prints a table; run them on a quiet machine."""
    unknown = sorted(set(names or ()) - set(NAMES))
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: known are {', '.join(NAMES)}")
    console = Console(stderr=as_markdown)
    for name in names or NAMES:
        found = machine()
        console.print(f"{name}: {sentence(found)}", style="dim", highlight=False)
        result: Result = import_module(f"bench.{name}").run(quick=quick)
        show(result, console)
        console.print(f"  written to {save(result, found, json_folder)}\n", style="dim", highlight=False)
        if as_markdown:
            print(f"### {result.title}\n\n{markdown(result)}\n")


if __name__ == "__main__":
    typer.run(main)
