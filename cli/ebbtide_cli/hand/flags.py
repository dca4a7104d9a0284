"""Flags that the commands for people share."""

from __future__ import annotations

from typing import Annotated, Final

import typer

LIMIT: Final = 50

AnyTenant = Annotated[
    str | None, typer.Option("--tenant", metavar="NAME", help="Only what is of this tenant; none: of all")
]
Tenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Whose session it is")]
SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many are shown")]
Sure = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON")]
