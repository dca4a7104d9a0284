"""Thinking: which models bind it to its prefix, and leaving it out as whole blocks."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.dialects.thinking import Binding, binding, has_thinking, without_thinking
from tests.dialects.examples import BLOCKS, WILD, Json, assistant, call, text
from tests.strategies.messages import buffers

BOUND, FREE = Binding

HM: Json = {"type": "thinking", "thinking": " hm\n", "signature": "Sg=="}
REDACTED: Json = {"type": "redacted_thinking", "data": "xx"}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-3-5-sonnet-20241022", FREE),
        ("claude-opus-4-20250514", FREE),
        ("claude-opus-4-8", FREE),
        ("claude-haiku-4-5-20251001", FREE),
        ("claude-sonnet-4-6", FREE),
        ("claude-opus-5", FREE),
        ("claude-opus-5-20260301", FREE),
        ("claude-sonnet-5", FREE),
        ("claude-fable-5", FREE),
        ("claude-mythos-5", FREE),
        ("claude-mythos-preview", FREE),
        ("claude-opus-5-5", BOUND),
        ("claude-opus-5-5-20260922", BOUND),
        ("claude-sonnet-5-5", BOUND),
        ("claude-fable-5-1", BOUND),
        ("claude-mythos-5-1", BOUND),
    ],
)
def test_the_table(model: str, expected: Binding) -> None:
    """Each model by its own row, whatever its release."""
    assert binding(model) is expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("Claude-Opus-5-5", BOUND),
        ("anthropic/claude-opus-5.5", BOUND),
        ("anthropic/claude-opus-4.8", FREE),
        ("us.anthropic.claude-opus-5-5-v1:0", BOUND),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", FREE),
        ("bedrock:global.anthropic.claude-haiku-4-5", FREE),
        ("vertex_ai/claude-sonnet-5@20260101", FREE),
        ("claude-sonnet-5[1m]", FREE),
        ("claude-opus-5-latest", FREE),
    ],
)
def test_vendors_write_names_in_their_own_ways(model: str, expected: Binding) -> None:
    """A prefix of path, region or vendor and a suffix of a release change nothing."""
    assert binding(model) is expected


@pytest.mark.parametrize(
    "model", ["claude-haiku-5-5", "claude-opus-5-6", "claude-opus-6", "claude-opus-50", "claude-novel-1"]
)
def test_a_newer_model_is_taken_to_bind(model: str) -> None:
    """Thinking left out costs a little; thinking refused costs the turn."""
    assert binding(model) is BOUND


@pytest.mark.parametrize("model", ["gpt-5", "openai/gpt-5", "not-claude", ""])
def test_other_models_bind_nothing(model: str) -> None:
    """The table is about Claude."""
    assert binding(model) is FREE


def test_blocks_are_left_out_whole_and_the_rest_is_kept() -> None:
    """Text, calls and other keys of the message stay as they are, in order."""
    message = {**assistant(HM, text("a"), REDACTED, call("t1")), "ebbtide": {"pinned": True}}
    before = deepcopy(message)
    assert without_thinking(message) == {**message, "content": [text("a"), call("t1")]}
    assert message == before


@pytest.mark.parametrize(
    "message", [assistant("words"), assistant(text("a")), assistant(), {"role": "user"}, assistant(None)]
)
def test_a_message_without_thinking_is_the_same_object(message: Json) -> None:
    """Nothing to leave out: nothing is copied."""
    assert not has_thinking(message)
    assert without_thinking(message) is message


@pytest.mark.parametrize("blocks", [[HM], [REDACTED], [HM, REDACTED]])
def test_of_nothing_but_thinking_nothing_is_left(blocks: list[Any]) -> None:
    """An empty message would be refused."""
    assert without_thinking(assistant(*blocks)) is None


def spelled(blocks: Any) -> list[str]:
    """Each block as its bytes."""
    return [json.dumps(block) for block in blocks] if isinstance(blocks, list) else [json.dumps(blocks)]


def keeps_or_drops_whole(message: Json) -> None:
    """Assert that each block is there to the byte, or gone; only thinking goes."""
    left = without_thinking(message)
    kept = spelled(left["content"]) if left is not None and "content" in left else []
    before = spelled(message["content"]) if "content" in message else []
    listed = isinstance(message.get("content"), list)
    thinking = [b for b in before if listed and has_thinking({"content": [json.loads(b)]})]
    assert kept == [b for b in before if b not in thinking]
    assert left is None or {k: v for k, v in left.items() if k != "content"} == {
        k: v for k, v in message.items() if k != "content"
    }


@given(message=WILD, more=st.lists(BLOCKS | st.sampled_from([HM, REDACTED]), max_size=4))
def test_a_block_is_there_to_the_byte_or_gone(message: Json, more: list[Any]) -> None:
    """Whatever a message holds, none of its blocks is edited."""
    keeps_or_drops_whole(message)
    keeps_or_drops_whole({**message, "content": more})


@given(messages=buffers("anthropic"))
def test_what_is_left_holds_no_thinking(messages: list[Json]) -> None:
    """Once is enough."""
    for message in messages:
        left = without_thinking(message)
        assert left is None or (not has_thinking(left) and without_thinking(left) is left)
