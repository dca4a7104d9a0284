"""The examples' README: its commands are taken, and every file is told."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from examples.console import parsed

FOLDER = Path(__file__).resolve().parents[2] / "examples"
TEXT = (FOLDER / "README.md").read_text()


def test_its_commands_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each names an example that is there, with flags that it knows."""
    commands = [shlex.split(line) for line in re.findall(r"^python -m examples\..*$", TEXT, re.M)]
    assert len(commands) == 2
    for _, _, module, *flags in commands:
        assert (FOLDER / f"{module.removeprefix('examples.')}.py").is_file()
        monkeypatch.setattr("sys.argv", [module, *flags])
        assert parsed("", model="m", window=1).window == 32_000


def test_it_tells_every_file() -> None:
    """A new example is not forgotten."""
    files = {path.name for path in FOLDER.glob("*.*")} - {"__init__.py", "README.md"}
    assert set(re.findall(r"^\| `(\w+\.\w+)` \|", TEXT, re.M)) == files
