"""`python -m ebbtide_cli`: the same as `ebbtide`."""

from __future__ import annotations

from ebbtide_cli.main import app

app(prog_name="ebbtide")
