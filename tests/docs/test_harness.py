"""The harness page: its code runs, and its tables are those of the code."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest

from ebbtide.harness import CompactionShim, CompactionShimConfig, DefaultCompactorConfig, is_summary_item
from ebbtide_cli.embedded import EmbeddedServer
from tests.harness.runs import bound, turn
from tests.harness.talk import ScriptedModel, assistant, user

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "harness.md").read_text(encoding="utf-8")
DEFAULT, POOL = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(code: str) -> dict[str, Any]:
    """Run a piece of the page and return its names; the agent is its shims."""
    names: dict[str, Any] = {"TOOLS": [], "make_agent": lambda shims: shims}
    exec(code, names)
    return names


async def test_the_default_compactor_of_the_page_compacts(capsys: pytest.CaptureFixture[str]) -> None:
    """Its shim installs a summary and tells of it."""
    names = run(DEFAULT)
    (shim,) = names["agent"]
    assert isinstance(shim, CompactionShim)
    at = turn([user(60_000), assistant(30_000), user(30_000), *[user(10)] * 4])
    await (await bound(shim, ScriptedModel("notes"))).prepare_turn(at)
    assert is_summary_item(at.run_state.history[0])
    assert capsys.readouterr().out.endswith("True None\n")


async def test_the_pool_s_compactor_of_the_page_prepares(server: EmbeddedServer, database: Any) -> None:
    """Its shim asks the pool at the first turn."""
    names = run(POOL.replace("redis://localhost:6379/0", server.url))
    (shim,) = names["agent"]
    await (await bound(shim, ScriptedModel())).prepare_turn(turn([user(10)]))
    assert names["compactor"].turn.report.faults == ()
    await names["pool"].close()


def shown(field: Field[Any]) -> str:
    """A default as the page writes it."""
    named = {"prompt": "`DEFAULT_COMPACTION_PROMPT`", "summary_bridge": "`DEFAULT_SUMMARY_BRIDGE`"}
    return "" if field.default is MISSING else named.get(field.name, str(field.default))


@pytest.mark.parametrize(
    "field", [*fields(CompactionShimConfig), *fields(DefaultCompactorConfig)], ids=lambda field: field.name
)
def test_every_setting_is_on_the_page(field: Field[Any]) -> None:
    """With its default."""
    assert re.search(rf"^\| `{field.name}` \| {re.escape(shown(field))} ?\| .+ \|$", PAGE, re.MULTILINE)
