"""`ebbtide doctor`: its flags, and how findings are shown."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import Annotated, Final

import typer

from ebbtide_cli import options
from ebbtide_cli.settings import Settings

EPILOG: Final = "Example:  ebbtide doctor --state redis://10.0.0.5:6379/0   Exit code 1: something fails."

AsJson = Annotated[bool, typer.Option("--json", help="Print the findings as JSON")]


def doctor(
    state: options.State = None,
    broker: options.Broker = None,
    summariser: options.SummariserName = None,
    json: AsJson = False,
) -> None:
    """Look at servers, scripts, tokenizer, key and versions, and say what to do."""
    from rich.console import Console
    from rich.markup import escape

    from ebbtide_cli import log
    from ebbtide_cli.doctor.checks import all_findings
    from ebbtide_cli.doctor.finding import Finding, Grade

    log.set_up("auto", "error")
    console = Console(highlight=False)
    colours = {Grade.OK: "green", Grade.WARN: "yellow", Grade.FAIL: "red"}
    findings: list[Finding] = []
    for finding in all_findings(Settings.read(state=state, broker=broker, summariser=summariser)):
        findings.append(finding)
        if not json:
            colour = colours[finding.grade]
            todo = f"\n{'':18}→ {escape(finding.do)}" if finding.do else ""
            console.print(
                f"[{colour}]{finding.grade.value:<5}[/] {finding.check:<11} {escape(finding.found)}{todo}",
                soft_wrap=True,
            )
    if json:
        typer.echo(jsonlib.dumps([asdict(f) for f in findings], indent=2))
    raise typer.Exit(int(any(f.grade is Grade.FAIL for f in findings)))
