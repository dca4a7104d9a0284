"""`python -m chaos`: one run, its tables, its JSON; exit code 1 when a law is broken."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from bench.machine import machine, sentence
from bench.report import show
from rich.console import Console

from chaos.driver import line
from chaos.figures import Figures, figures
from chaos.fleet import Size
from chaos.laws import LAWS, broken
from chaos.report import happened, recovery, show_laws
from chaos.run import planned, run


def main(
    seed: Annotated[int, typer.Option(help="Decides the schedule; the same one plays it again.")] = 1,
    seconds: Annotated[float, typer.Option(min=10, help="How long faults come.")] = 60.0,
    hosts: Annotated[int, typer.Option(min=1, help="Host processes, of three sessions each.")] = 4,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all figures to this file.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print the schedule and do nothing.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep journals and logs when all laws hold.")] = False,
) -> None:
    """Let faults befall a fleet of real processes, then check the laws from outside."""
    console, size = Console(), Size(hosts, workers)
    if plan:
        for each in planned(seed, seconds, size):
            print(line(each))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    about, folder = machine(), Path(tempfile.mkdtemp(prefix="ebbtide-chaos-"))

    def tell(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    tell(f"seed {seed}, {seconds:g} s: {sentence(about)}")
    tell(f"journals and logs: {folder}")
    found = run(seed, seconds, size, folder, tell)
    told, laws = figures(found), broken(found)
    for result in (happened(told), recovery(told)):
        show(result, console)
    show_laws(list(LAWS), laws, console)
    if json_file is not None:
        _save(json_file, {"seed": seed, "seconds": seconds, **asdict(size), "machine": about}, told, laws)
    if laws:
        tell(f"  journals and logs are kept in {folder}")
        raise typer.Exit(1)
    if not keep:
        shutil.rmtree(folder)


def _save(path: Path, about: dict[str, object], told: Figures, laws: dict[str, list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {**about, "figures": told.as_json(), "broken": laws}
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
