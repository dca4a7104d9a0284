"""Canonical form: equal messages of either format come to one form, different ones don't."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.dialects.base import Dialect
from ebbtide_core.jsonio import canonical_bytes
from tests.dialects.examples import (
    ALL,
    ANTHROPIC,
    ANY_TEXT,
    BLOCKS,
    JSON,
    MARK,
    OPENAI,
    RESPONSES,
    WILD,
    Json,
    answers,
    asks,
    assistant,
    call,
    result,
    source,
    text,
    user,
)

dialects = pytest.mark.parametrize("dialect", ALL, ids=lambda d: d.name)


def form(dialect: Dialect, message: Json) -> bytes:
    return canonical_bytes(dialect.canonical(message))


@dialects
@given(message=WILD)
def test_a_canonical_form_is_its_own_canonical_form(dialect: Dialect, message: Json) -> None:
    """Applying the canonicaliser again changes nothing, whatever the message holds."""
    once = dialect.canonical(message)
    assert dialect.canonical(once) == once


@dialects
@given(message=WILD)
def test_the_message_is_left_as_it_was(dialect: Dialect, message: Json) -> None:
    """The canonical form is a new object; the argument keeps each of its values."""
    before = copy.deepcopy(message)
    dialect.canonical(message)
    assert message == before


@dialects
@given(words=ANY_TEXT, role=st.sampled_from(["user", "assistant", "system", "tool"]))
def test_a_string_content_equals_one_text_block(dialect: Dialect, words: str, role: str) -> None:
    """A host may send a message's words either way without changing the lineage."""
    as_string = {"role": role, "content": words}
    kind = "text"
    if dialect is RESPONSES:
        kind = "output_text" if role == "assistant" else "input_text"
    as_block = {"role": role, "content": [{"type": kind, "text": words}]}
    assert form(dialect, as_string) == form(dialect, as_block)


@given(words=ANY_TEXT)
def test_a_string_in_a_result_equals_one_text_block(words: str) -> None:
    """A tool_result and a document of content blocks may hold their words either way too."""
    document = {"type": "document", "source": {"type": "content", "content": words}}
    blocks = {"type": "document", "source": {"type": "content", "content": [text(words)]}}
    assert form(ANTHROPIC, user(result("a", words))) == form(ANTHROPIC, user(result("a", [text(words)])))
    assert form(ANTHROPIC, user(document)) == form(ANTHROPIC, user(blocks))


def test_a_bare_string_among_blocks_is_a_text_block() -> None:
    """Some logs hold plain strings where blocks belong."""
    assert form(ANTHROPIC, {"role": "user", "content": ["a"]}) == form(ANTHROPIC, user(text("a")))


SAME: list[tuple[str, Dialect, Json, Json]] = [
    ("message", ANTHROPIC, {**user("a"), "name": None, "ebbtide": {"pinned": True}}, user("a")),
    ("content", ANTHROPIC, {"role": "user", "content": None}, {"role": "user"}),
    ("text", ANTHROPIC, user({**text("a"), "citations": None, "cache_control": MARK}), user(text("a"))),
    (
        "citation",
        ANTHROPIC,
        assistant({**text("a"), "citations": [{"type": "char_location", "file_id": None}]}),
        assistant({**text("a"), "citations": [{"type": "char_location"}]}),
    ),
    (
        "call",
        ANTHROPIC,
        assistant({**call("a", x=1), "caller": None, "cache_control": MARK}),
        assistant(call("a", x=1)),
    ),
    (
        "result",
        ANTHROPIC,
        user(
            result(
                "a",
                [{**text("b"), "cache_control": MARK, "citations": None}],
                is_error=None,
                cache_control=MARK,
            )
        ),
        user(result("a", "b")),
    ),
    (
        "image in a result",
        ANTHROPIC,
        user(
            result("a", [{"type": "image", "source": {**source("AA"), "url": None}, "cache_control": MARK}])
        ),
        user(result("a", [{"type": "image", "source": source("AA")}])),
    ),
    (
        "document of blocks",
        ANTHROPIC,
        user(
            {
                "type": "document",
                "source": {"type": "content", "content": [{**text("a"), "cache_control": MARK}]},
            }
        ),
        user({"type": "document", "source": {"type": "content", "content": "a"}}),
    ),
    (
        "web search",
        ANTHROPIC,
        assistant(
            {"type": "web_search_tool_result", "content": [{"type": "web_search_result", "page_age": None}]}
        ),
        assistant({"type": "web_search_tool_result", "content": [{"type": "web_search_result"}]}),
    ),
    (
        "web fetch",
        ANTHROPIC,
        assistant(
            {"type": "web_fetch_tool_result", "content": {"content": {"type": "document", "citations": None}}}
        ),
        assistant({"type": "web_fetch_tool_result", "content": {"content": {"type": "document"}}}),
    ),
    (
        "message",
        OPENAI,
        {
            **assistant("a"),
            "tool_calls": None,
            "function_call": None,
            "refusal": None,
            "audio": None,
            "ebbtide": {},
        },
        assistant("a"),
    ),
    ("content", OPENAI, asks("a"), {k: v for k, v in asks("a").items() if k != "content"}),
    ("mark on the message", OPENAI, {**answers("a"), "cache_control": MARK}, answers("a")),
    ("part", OPENAI, user({**text("a"), "cache_control": MARK, "extra": None}), user("a")),
    ("tool parts", OPENAI, answers("a", [{**text("b"), "cache_control": MARK}]), answers("a", "b")),
    (
        "image",
        OPENAI,
        user({"type": "image_url", "image_url": {"url": "u", "detail": None}, "cache_control": MARK}),
        user({"type": "image_url", "image_url": {"url": "u"}}),
    ),
    (
        "call",
        OPENAI,
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "function": {"name": "f", "arguments": "{}", "x": None}, "index": None}
            ],
        },
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
    ),
]


@pytest.mark.parametrize(
    ("dialect", "noisy", "clean"),
    [pytest.param(d, a, b, id=f"{d.name}: {name}") for name, d, a, b in SAME],
)
def test_nulls_and_cache_marks_don_t_count(dialect: Dialect, noisy: Json, clean: Json) -> None:
    """What an SDK's dump adds, and what a host moves from turn to turn, does not change the lineage."""
    assert form(dialect, noisy) == form(dialect, clean)


POSITIONS: list[tuple[str, Dialect, Any]] = [
    ("message", ANTHROPIC, lambda block: {**block, "role": "user"}),
    ("content", ANTHROPIC, user),
    ("result", ANTHROPIC, lambda block: user(result("a", [block]))),
    ("document", ANTHROPIC, lambda block: user({"source": {"type": "content", "content": [block]}})),
    (
        "server result",
        ANTHROPIC,
        lambda block: assistant({"type": "x_tool_result", "content": {"content": block}}),
    ),
    ("message", OPENAI, lambda block: {**block, "role": "user"}),
    ("content", OPENAI, user),
    ("tool content", OPENAI, lambda block: answers("a", [block])),
    ("call", OPENAI, lambda block: {"role": "assistant", "tool_calls": [block]}),
    ("function", OPENAI, lambda block: {"role": "assistant", "tool_calls": [{"function": block}]}),
    ("legacy call", OPENAI, lambda block: {"role": "assistant", "function_call": block}),
]


@pytest.mark.parametrize(
    ("dialect", "place"), [pytest.param(d, p, id=f"{d.name}: {name}") for name, d, p in POSITIONS]
)
@given(block=BLOCKS, mark=JSON)
def test_no_null_and_no_mark_counts_at_a_block_position(
    dialect: Dialect, place: Any, block: Json, mark: Any
) -> None:
    """Wherever a block may stand, whatever it holds, a null key and a cache mark change nothing."""
    bare = {key: value for key, value in block.items() if key != "cache_control"}
    noisy = {**bare, "cache_control": mark, "unheard_of": None}
    assert form(dialect, place(noisy)) == form(dialect, place(bare))


OPAQUE: list[tuple[str, Dialect, Any]] = [
    ("call", ANTHROPIC, lambda value: assistant(call("a", x=value))),
    (
        "server call",
        ANTHROPIC,
        lambda value: assistant({"type": "server_tool_use", "id": "a", "name": "n", "input": {"x": value}}),
    ),
    (
        "tools of a compaction",
        ANTHROPIC,
        lambda value: assistant(
            {"type": "compaction", "content": "s", "tool_changes": [{"content": {"x": value}}]}
        ),
    ),
    (
        "arguments",
        OPENAI,
        lambda value: {
            "role": "assistant",
            "tool_calls": [{"id": "a", "function": {"arguments": {"x": value}}}],
        },
    ),
    (
        "legacy arguments",
        OPENAI,
        lambda value: {"role": "assistant", "function_call": {"arguments": {"x": value}}},
    ),
]


@pytest.mark.parametrize(
    ("dialect", "build"), [pytest.param(d, b, id=f"{d.name}: {name}") for name, d, b in OPAQUE]
)
@given(value=st.builds(lambda inner: {"cache_control": inner, "null": None}, JSON))
def test_a_call_s_input_is_opaque(dialect: Dialect, build: Any, value: Json) -> None:
    """Nulls and keys named like a cache mark inside an input belong to the tool."""
    assert canonical_bytes(value) in form(dialect, build(value))


def test_arguments_stay_the_string_they_are() -> None:
    """OpenAI's arguments are a string: white space in it is part of the message."""
    spaced = asks("a")
    spaced["tool_calls"][0]["function"]["arguments"] = '{"a": null,  "cache_control": 1}'
    assert OPENAI.canonical(spaced)["tool_calls"] == spaced["tool_calls"]


@pytest.mark.parametrize(
    ("dialect", "one", "other"),
    [
        (ANTHROPIC, user("a"), user("b")),
        (ANTHROPIC, user("a"), assistant("a")),
        (ANTHROPIC, user(text("a"), text("b")), user(text("b"), text("a"))),
        (ANTHROPIC, user(result("a")), user(result("a", is_error=True))),
        (ANTHROPIC, assistant(call("a", x=None)), assistant(call("a"))),
        (OPENAI, asks("a"), asks("b")),
        (OPENAI, answers("a", ""), answers("a", "b")),
        (OPENAI, assistant("a"), {**assistant("a"), "reasoning_content": "why"}),
    ],
)
def test_different_messages_stay_different(dialect: Dialect, one: Json, other: Json) -> None:
    """What the model can see changes the form."""
    assert form(dialect, one) != form(dialect, other)
