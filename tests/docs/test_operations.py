"""The code of the operations page runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from anthropic import Anthropic

from ebbtide import Pool
from ebbtide_cli.embedded import EmbeddedServer
from tests.standin.fixture import standin
from tests.standin.server import StandIn

__all__ = ["standin"]

OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def test_the_backstop_goes_with_a_request(server: EmbeddedServer, database: Any, standin: StandIn) -> None:
    """The provider takes the settings as they are passed there."""
    (code,) = re.findall(r"```python\n(.*?)```", OPERATIONS.read_text(), re.DOTALL)
    request = {"max_tokens": 100}
    with Anthropic(base_url=standin.url, api_key="k") as client, Pool(server.url) as pool:
        session = pool.session(tenant="t", session_id="s", model="claude-sonnet-5-5", context_window=200_000)
        turn = session.prepare([{"role": "user", "content": "go"}])
        names = {"client": client, "session": session, "turn": turn, "request": request}
        exec(code, {"MODEL": "claude-sonnet-5-5", **names})
    [entry] = standin.control.requests()
    assert (entry["outcome"], entry["betas"]) == ("good", ["compact-2026-01-12"])
