"""Context management of the Messages API through the real SDK: what is taken, what is rejected."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from tests.standin.context import BETAS

COMPACT: dict[str, Any] = {"type": "compact_20260112"}
CLEAR: dict[str, Any] = {"type": "clear_tool_uses_20250919"}


async def send(client: AsyncAnthropic, edit: Any, **more: Any) -> str | None:
    """Send a request with one edit and its header; return why the answer ended."""
    request: dict[str, Any] = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "go"}],
        "betas": [BETAS.get(edit.get("type", ""), "")],
        "context_management": {"edits": [edit]},
        **more,
    }
    return str((await client.beta.messages.create(**request)).stop_reason)


@pytest.mark.parametrize(
    "edit",
    [
        COMPACT,
        {**COMPACT, "trigger": {"type": "input_tokens", "value": 50_000}, "pause_after_compaction": True},
        CLEAR,
        {**CLEAR, "trigger": {"type": "tool_uses", "value": 9}, "keep": {"type": "tool_uses", "value": 1}},
        {"type": "clear_thinking_20251015", "keep": "all"},
    ],
)
async def test_an_edit_with_its_header_is_taken(client: AsyncAnthropic, edit: dict[str, Any]) -> None:
    """All three kinds, with the fields that the SDK types."""
    assert await send(client, edit) == "end_turn"


@pytest.mark.parametrize(
    ("edit", "more"),
    [
        (COMPACT, {"betas": ["compact-2026-09-04"]}),
        (CLEAR, {"betas": []}),
        (COMPACT, {"model": "claude-haiku-4-5"}),
        ({**COMPACT, "trigger": {"type": "input_tokens", "value": 49_999}}, {}),
        ({**COMPACT, "keep": {"type": "tool_uses", "value": 1}}, {}),
        ({**CLEAR, "trigger": {"type": "turns", "value": 9}}, {}),
        ({"type": "clear_all"}, {}),
    ],
)
async def test_what_the_api_rejects_is_rejected(
    client: AsyncAnthropic, edit: dict[str, Any], more: dict[str, Any]
) -> None:
    """A wrong header, model, trigger, field or kind."""
    with pytest.raises(anthropic.BadRequestError):
        await send(client, edit, **more)
