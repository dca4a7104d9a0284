"""All commands for people: each explains itself, and each that the operations page shows is understood."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from ebbtide_cli.main import app
from tests.cli.by_hand import Command, ebbtide

__all__ = ["ebbtide"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operations.md"
GROUPS = ("session", "tenant", "account", "breaker", "jobs")
SHOWN = re.compile(r"`ebbtide ([^`]+)`|^ {4}ebbtide (.+)$", re.MULTILINE)


def subcommands(group: str) -> list[str]:
    """The names of a group's subcommands."""
    found = get_command(app)
    assert isinstance(found, TyperGroup)
    inner = found.commands[group]
    assert isinstance(inner, TyperGroup)
    return sorted(inner.commands)


ALL = [(group, name) for group in GROUPS for name in subcommands(group)]


@pytest.mark.parametrize(("group", "name"), ALL)
def test_every_subcommand_explains_itself(ebbtide: Command, group: str, name: str) -> None:
    """With a sentence, its flags and an example."""
    told = ebbtide(group, name, "--help").stdout
    assert "Example:" in told
    assert f"ebbtide {group} {name}" in " ".join(told.split())
    assert {"--json", "--state"} <= set(told.split())


def documented() -> list[list[str]]:
    """The arguments of each command that the page shows."""
    shown = (shlex.split(one or other) for one, other in SHOWN.findall(PAGE.read_text(encoding="utf-8")))
    return [arguments for arguments in shown if arguments[0] in GROUPS and len(arguments) > 1]


@pytest.mark.parametrize("arguments", documented(), ids=" ".join)
def test_documented_commands_are_understood(
    ebbtide: Command, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an empty store each ends with 0 or 1, not with its usage."""
    shutil.copy(ROOT / "examples" / "tenants.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    done = ebbtide(*arguments)
    assert done.exit_code in (0, 1), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_every_subcommand_is_documented() -> None:
    """The page shows an example of each."""
    assert {tuple(arguments[:2]) for arguments in documented()} == set(ALL)


@pytest.mark.parametrize("group", GROUPS)
def test_the_command_leads_to_each_group(ebbtide: Command, group: str) -> None:
    """Its help names the group, whose own help names what it has."""
    assert group in ebbtide("--help").stdout
    told = ebbtide(group, "--help").stdout
    assert all(name in told for name in subcommands(group))
