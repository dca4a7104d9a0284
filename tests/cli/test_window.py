"""Counting a request against its window."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_cli.replay.window import WindowCheck, without_payloads
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.jsonio import compact
from ebbtide_core.policy import DOCUMENT_TOKENS, IMAGE_TOKENS
from tests.cli.turns import Json, talk, user

BASE64 = "iVBORw0KGgo" * 500
ANTHROPIC_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}}
OPENAI_IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}}


def tokens(value: Any) -> int:
    """Return the count of a value as compact JSON."""
    return tokenizer().count(compact(value))


@pytest.mark.parametrize("messages", [list(talk(30)), [user("été 🎉 " * 200)], []])
def test_the_limit_is_exact(messages: list[Json]) -> None:
    """A window of just the size of view, system, tools and output is not passed; one token less is."""
    system, tools = "be brief", [{"name": "bash"}]
    size = tokens(messages) + tokens(system) + tokens(tools) + 50
    assert not WindowCheck(tokenizer(), size, 50, system, tools).over(messages)
    assert WindowCheck(tokenizer(), size - 1, 50, system, tools).over(messages)


@pytest.mark.parametrize(
    ("block", "cost"),
    [
        (ANTHROPIC_IMAGE, IMAGE_TOKENS),
        (OPENAI_IMAGE, IMAGE_TOKENS),
        ({**ANTHROPIC_IMAGE, "type": "document"}, DOCUMENT_TOKENS),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": BASE64}}, DOCUMENT_TOKENS),
        ({"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}}, DOCUMENT_TOKENS),
        ({"type": "tool_result", "tool_use_id": "1", "content": [ANTHROPIC_IMAGE] * 2}, 2 * IMAGE_TOKENS),
        ({"type": "input_image", "image_url": f"data:image/png;base64,{BASE64}"}, IMAGE_TOKENS),
        ({"type": "input_file", "file_data": f"data:application/pdf;base64,{BASE64}"}, DOCUMENT_TOKENS),
        ({"type": "image_generation_call", "id": "ig", "result": BASE64}, IMAGE_TOKENS),
    ],
)
def test_payloads_cost_a_fixed_amount(block: Json, cost: int) -> None:
    """An image, a document or audio costs what is documented, never its base64, wherever it stands."""
    light, fixed = without_payloads([{"role": "user", "content": [block]}])
    assert fixed == cost
    assert BASE64 not in compact(light)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": BASE64},
        {"type": "tool_use", "id": "1", "name": "n", "input": {"data": BASE64}},
        {"type": "redacted_thinking", "data": BASE64},
        {"type": "program_output", "call_id": "p", "result": BASE64},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    ],
)
def test_text_stays_text(block: Json) -> None:
    """What only looks like a payload counts as it is written."""
    assert without_payloads([block]) == ([block], 0)
