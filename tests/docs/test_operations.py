"""The code of the operations page runs as it stands, and its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

from ebbtide import Pool
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_cli.tenant.document import read
from ebbtide_core.contract.tenant import Hop, TenantPolicy
from tests.standin.fixture import standin
from tests.standin.server import StandIn

__all__ = ["standin"]

OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


@pytest.mark.parametrize("key", sorted({*TenantPolicy.model_fields, *Hop.model_fields}))
def test_every_key_of_a_tenant_s_file_is_told(key: str) -> None:
    """In a table of the section on tenants."""
    _, _, section = OPERATIONS.read_text(encoding="utf-8").partition("\n## Tenants\n")
    rows = re.findall(r"^\| (`.*?`) \|", section.partition("\n## ")[0], re.MULTILINE)
    assert f"`{key}`" in ", ".join(rows).split(", ")


def test_the_file_of_tenants_that_is_shown_is_read() -> None:
    """It is what the text around it says."""
    (text,) = re.findall(r"```toml\n(.*?)```", OPERATIONS.read_text(encoding="utf-8"), re.DOTALL)
    declared = read(text.encode())
    assert declared.tenants["acme"].concurrency == 8
    assert declared.tenants["acme"].route[0].credentials == "env:ANTHROPIC_API_KEY"


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
