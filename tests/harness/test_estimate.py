"""The local estimate of a request's tokens."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide.harness import NON_TEXT_PART_TOKENS, estimate_message_tokens


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcde", 2),
        ("éééé", 2),
        ("🙂", 1),
        (None, 1),
        ({"a": "é"}, 4),
        (["raw text"], 2),
        ([{"type": "text", "text": "abcdefgh"}], 2),
        ([{"type": "input_text", "text": "abcdefgh"}], 2),
        ([{"type": "output_text", "text": "abcdefgh"}], NON_TEXT_PART_TOKENS),
        ([{"type": "text", "text": 7}], NON_TEXT_PART_TOKENS),
        ([{"type": "image_url", "image_url": {"url": "u"}}, 7], 2 * NON_TEXT_PART_TOKENS),
        ([], 0),
        ("\ud800", 1),
    ],
)
def test_each_kind_of_content_has_its_documented_cost(content: Any, tokens: int) -> None:
    """Text costs its bytes divided by four, other parts 1,000, anything else its JSON."""
    assert estimate_message_tokens([{"role": "user", "content": content}]) == tokens


@pytest.mark.parametrize(("calls", "tokens"), [(None, 0), ([], 1), ([{"id": "call_1"}], 5)])
def test_tool_calls_cost_their_json(calls: Any, tokens: int) -> None:
    """The list of calls is counted as JSON with the usual separators; none costs nothing."""
    with_calls = [{"role": "assistant", "content": "", "tool_calls": calls}]
    assert estimate_message_tokens(with_calls) == tokens


def test_what_is_beside_content_and_calls_costs_nothing() -> None:
    """Role, name and ids are not counted, and a missing content costs as null does."""
    assert estimate_message_tokens([{"role": "tool", "tool_call_id": "c" * 99, "name": "n" * 99}]) == 1
    assert estimate_message_tokens([]) == 0


def test_a_content_that_is_no_json_is_counted_as_python_writes_it() -> None:
    """An estimate never fails on what a message holds."""
    loop: list[Any] = []
    loop.append({"again": loop})
    looped = {"loop": loop}
    assert estimate_message_tokens([{"role": "user", "content": {1, 2}}]) == 2
    assert estimate_message_tokens([{"role": "user", "content": looped}]) > 0
