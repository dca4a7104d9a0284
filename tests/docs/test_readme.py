"""The code of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from tests.standin.fixture import standin
from tests.standin.server import StandIn

__all__ = ["standin"]

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_ten_lines_run_against_the_real_sdk(
    server: EmbeddedServer, database: Any, standin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop prepares a turn, sends it through the Anthropic SDK and keeps the buffer with the answer."""
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", standin.url)
    names: dict[str, Any] = {
        "MODEL": "claude-sonnet-5-5",
        "SYSTEM": "Be brief.",
        "TOOLS": [],
        "run_tools": lambda response: [],
    }
    exec(code.replace("redis://localhost:6379/0", server.url), names)
    names["pool"].close()
    names["client"].close()
    assert [m["role"] for m in names["messages"]] == ["user", "assistant"]
    assert names["turn"].report.faults == ()
    assert len(standin.control.requests()) == 1
