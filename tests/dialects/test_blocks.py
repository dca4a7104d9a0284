"""Reading a message: its parts, calls, results, roles and texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.dialects.base import Block, BlockKind, Dialect
from ebbtide_core.jsonio import MAX_DEPTH, plain
from ebbtide_core.policy import IMAGE_TOKENS
from tests.dialects.examples import (
    ALL,
    ANTHROPIC,
    ANY_TEXT,
    OPENAI,
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

CALL, RESULT, NATIVE, TEXT = BlockKind.CALL, BlockKind.RESULT, BlockKind.NATIVE, BlockKind.TEXT

PARTS: list[tuple[Json, list[Block]]] = [
    (text("hi"), [Block(TEXT, "hi")]),
    ({"type": "thinking", "thinking": "hm", "signature": "S"}, [Block(BlockKind.THINKING, "hm")]),
    ({"type": "redacted_thinking", "data": "xx"}, [Block(BlockKind.THINKING)]),
    (call("a", x=[1]), [Block(CALL, '{"x":[1]}', "bash", "a", {"x": [1]})]),
    ({"type": "tool_use", "id": "a", "name": "n", "input": [1]}, [Block(CALL, "[1]", "n", "a")]),
    ({"type": "tool_use"}, [Block(CALL)]),
    (result("a"), [Block(RESULT, "ok", call_id="a")]),
    (result("a", [text("b"), {"type": "image"}, text("c")]), [Block(RESULT, "b\nc", call_id="a")]),
    (result("a", None, is_error=True), [Block(RESULT, call_id="a", is_error=True)]),
    ({"type": "image", "source": source("AA")}, [Block(BlockKind.IMAGE)]),
    ({"type": "document", "source": source("AA")}, [Block(BlockKind.DOCUMENT)]),
    (
        {"type": "search_result", "title": "T", "source": "s.md", "content": [text("a")]},
        [Block(BlockKind.DOCUMENT, "T\ns.md\na")],
    ),
    ({"type": {"odd": []}}, [Block(BlockKind.OTHER)]),
    *(
        ({"type": kind, "id": "a", "tool_use_id": "a", "content": "words"}, [Block(NATIVE, words)])
        for kind, words in [
            ("server_tool_use", ""),
            ("web_search_tool_result", "words"),
            ("web_fetch_tool_result", "words"),
            ("bash_code_execution_tool_result", "words"),
            ("mcp_tool_use", ""),
            ("mcp_tool_result", "words"),
            ("container_upload", ""),
            ("compaction", "words"),
            ("fallback", ""),
        ]
    ),
]


@pytest.mark.parametrize(
    ("block", "expected"), PARTS, ids=lambda v: str(v.get("type")) if isinstance(v, dict) else ""
)
def test_anthropic_blocks(block: Json, expected: list[Block]) -> None:
    """Each block of the Messages format is read as its kind."""
    assert list(ANTHROPIC.blocks({"role": "user", "content": [block]})) == expected


OPENAI_PARTS: list[tuple[Json, list[Block]]] = [
    (user("hi"), [Block(TEXT, "hi")]),
    (user(text("a"), text("b")), [Block(TEXT, "a"), Block(TEXT, "b")]),
    ({"role": "assistant", "content": None}, []),
    ({"role": "assistant", "content": None, "refusal": "no"}, [Block(TEXT, "no")]),
    (assistant({"type": "refusal", "refusal": "no"}), [Block(TEXT, "no")]),
    ({**assistant("a"), "reasoning_content": "hm"}, [Block(BlockKind.THINKING, "hm"), Block(TEXT, "a")]),
    ({**assistant("a"), "reasoning": "hm"}, [Block(BlockKind.THINKING, "hm"), Block(TEXT, "a")]),
    (asks("x", content="a"), [Block(TEXT, "a"), Block(CALL, "{}", "f", "x", {})]),
    (
        {"role": "assistant", "function_call": {"name": "f", "arguments": '{"a": 1}'}},
        [Block(CALL, '{"a":1}', "f", "f", {"a": 1})],
    ),
    (
        {
            "role": "assistant",
            "tool_calls": [{"id": "x", "type": "custom", "custom": {"name": "f", "input": "raw"}}],
        },
        [Block(CALL, "raw", "f", "x")],
    ),
    (answers("x", [text("a"), text("b")]), [Block(RESULT, "a\nb", call_id="x")]),
    ({"role": "function", "name": "f", "content": "a"}, [Block(RESULT, "a", call_id="f")]),
    (user({"type": "image_url", "image_url": {"url": "u"}}), [Block(BlockKind.IMAGE)]),
    (user({"type": "file", "file": {"file_id": "f"}}), [Block(BlockKind.DOCUMENT)]),
    (user({"type": "input_audio", "input_audio": {"data": "AA"}}), [Block(BlockKind.OTHER)]),
]


@pytest.mark.parametrize(("message", "expected"), OPENAI_PARTS)
def test_openai_blocks(message: Json, expected: list[Block]) -> None:
    """Content, reasoning, refusal and calls of a Chat message are read in order."""
    assert list(OPENAI.blocks(message)) == expected


@pytest.mark.parametrize(
    ("arguments", "words", "parsed"),
    [
        ('{"a":  "\u00e9"}', '{"a":"\u00e9"}', {"a": "\u00e9"}),
        ("", "", None),
        ("{broken", "{broken", None),
        ("[1, 2]", "[1,2]", None),
        ('{"a": NaN}', '{"a": NaN}', None),
        ('{"a": 1e999}', '{"a": 1e999}', None),
        ("[" * 100_000, "[" * 100_000, None),
        ("9" * 5_000, "9" * 5_000, None),
        ({"a": 1}, '{"a":1}', {"a": 1}),
        (7, "7", None),
        (None, "", None),
    ],
    ids=[
        "spaced",
        "empty",
        "broken",
        "list",
        "nan",
        "infinite",
        "deep",
        "long number",
        "object",
        "number",
        "null",
    ],
)
def test_arguments_are_read_as_far_as_they_are_json(arguments: Any, words: str, parsed: Any) -> None:
    """Arguments that are no JSON stay the text they are, and never raise."""
    message = asks("x")
    message["tool_calls"][0]["function"]["arguments"] = arguments
    (block,) = OPENAI.blocks(message)
    assert (block.text, block.arguments) == (words, parsed)


@dialects
@given(message=WILD)
def test_no_method_raises_on_an_object_with_a_role(dialect: Dialect, message: Json) -> None:
    """Transcripts may hold anything."""
    dialect.canonical(message)
    dialect.role(message)
    dialect.ties(message)
    dialect.knows(message)
    dialect.words(message)
    dialect.is_system(message)
    dialect.blocks(message)
    dialect.only_results(message)
    dialect.weight(message).text.encode()
    dialect.text(message)
    dialect.map_results(message, str.upper)
    dialect.replace_results(message, {"a": "b"})
    dialect.violations([message, message])


@pytest.mark.parametrize("dialect", ALL, ids=lambda d: d.name)
def test_the_deepest_allowed_nesting_is_read(dialect: Dialect) -> None:
    """Blocks inside blocks, as deep as plain values may go, exhaust no stack."""
    block: Json = {"type": "image", "source": source("AAAA")}
    for _ in range((MAX_DEPTH - 3) // 2):
        block = {"type": "tool_result", "content": [block]}
    message = plain(user(block))
    assert dialect.canonical(message) == message
    assert dialect.weight(message).fixed == IMAGE_TOKENS
    assert dialect.map_results(message, str.upper) == message


@dialects
@given(message=WILD)
def test_ids_are_those_of_the_blocks(dialect: Dialect, message: Json) -> None:
    """`calls` and `results` name what `blocks` shows, less blocks without an id."""
    blocks = dialect.blocks(message)
    for kind, ids in ((CALL, dialect.calls(message)), (RESULT, dialect.results(message))):
        assert [i for i in ids if i] == [b.call_id for b in blocks if b.kind is kind and b.call_id]


@dialects
@given(message=WILD)
def test_the_canonical_form_reads_like_the_message(dialect: Dialect, message: Json) -> None:
    """A worker, which sees canonical forms, reads what the host reads."""
    form = dialect.canonical(message)
    assert list(dialect.blocks(form)) == list(dialect.blocks(message))
    assert dialect.calls(form) == dialect.calls(message)
    assert dialect.results(form) == dialect.results(message)
    assert dialect.only_results(form) == dialect.only_results(message)
    assert dialect.text(form) == dialect.text(message)
    assert dialect.role(form) == dialect.role(message)
    assert dialect.ties(form) == dialect.ties(message)
    assert dialect.violations([form]) == dialect.violations([message])


@dialects
@given(words=ANY_TEXT)
def test_a_user_s_text_comes_back(dialect: Dialect, words: str) -> None:
    """The message made of a text holds exactly that text."""
    message = dialect.user(words)
    assert dialect.text(message) == words
    assert [(b.kind, b.text) for b in dialect.blocks(message)] == [(TEXT, words)]
    assert message["role"] == "user"


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        (ANTHROPIC, user(text("a"), text("b"))),
        (ANTHROPIC, user(result("a"))),
        (ANTHROPIC, user()),
        (ANTHROPIC, {"role": "user"}),
        (OPENAI, answers("a")),
        (OPENAI, asks("a", content="b")),
        (OPENAI, {**assistant("a"), "reasoning_content": "hm"}),
        (OPENAI, {**assistant("a"), "refusal": "no"}),
        (OPENAI, {"role": "function", "name": "f", "content": "a"}),
    ],
)
def test_more_than_one_text_is_no_text(dialect: Dialect, message: Json) -> None:
    """A message with anything beside one text has no sole text."""
    assert dialect.text(message) is None


@dialects
@pytest.mark.parametrize(
    ("role", "expected"), [("system", True), ("developer", True), ("user", False), ("assistant", False)]
)
def test_system_and_developer_messages(dialect: Dialect, role: str, expected: bool) -> None:
    """Both roles give instructions, wherever they stand."""
    assert dialect.is_system({"role": role, "content": "a"}) is expected


@pytest.mark.parametrize(
    ("dialect", "message", "expected"),
    [
        (ANTHROPIC, user(result("a"), result("b")), True),
        (ANTHROPIC, user(result("a"), text("b")), False),
        (ANTHROPIC, user(result("a"), "b"), False),
        (ANTHROPIC, user(), False),
        (ANTHROPIC, assistant(call("a")), False),
        (OPENAI, answers("a"), True),
        (OPENAI, {"role": "function", "name": "f", "content": "a"}, True),
        (OPENAI, asks("a"), False),
    ],
)
def test_only_results(dialect: Dialect, message: Json, expected: bool) -> None:
    """A message of results and nothing else continues its exchange."""
    assert dialect.only_results(message) is expected


def test_reused_and_empty_ids_are_kept_in_order() -> None:
    """Ids are whatever strings the provider sent, repeated ones and empty ones included."""
    assert ANTHROPIC.calls(assistant(call("a"), call(""), call("a"))) == ["a", "", "a"]
    assert OPENAI.calls(asks("", "a", "")) == ["", "a", ""]


def test_server_tools_are_no_calls_of_the_host() -> None:
    """The provider answers its own tools; the host owes nothing."""
    message = assistant({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, call("a"))
    assert ANTHROPIC.calls(message) == ["a"]
    assert (
        ANTHROPIC.results(assistant({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}))
        == []
    )


@dialects
@given(message=WILD)
def test_mapping_results_without_a_change_changes_nothing(dialect: Dialect, message: Json) -> None:
    """Everything but the texts of results is kept as it is."""
    assert dialect.map_results(message, lambda words: words) == message


@pytest.mark.parametrize(
    ("dialect", "message", "expected"),
    [
        (ANTHROPIC, user(result("a", "b"), text("c")), user(result("a", "B"), text("c"))),
        (ANTHROPIC, user(result("a", "b", is_error=True)), user(result("a", "B", is_error=True))),
        (
            ANTHROPIC,
            user(result("a", [text("b"), {"type": "image", "source": source("aa")}, text("c")])),
            user(result("a", [text("B"), {"type": "image", "source": source("aa")}, text("C")])),
        ),
        (ANTHROPIC, user(result("a", ["b"])), user(result("a", ["B"]))),
        (ANTHROPIC, assistant(call("a", x="b")), assistant(call("a", x="b"))),
        (ANTHROPIC, user("b"), user("b")),
        (OPENAI, answers("a", "b"), answers("a", "B")),
        (
            OPENAI,
            answers("a", [text("b"), {"type": "x", "text": "c"}]),
            answers("a", [text("B"), {"type": "x", "text": "c"}]),
        ),
        (OPENAI, answers("a", None), answers("a", None)),
        (OPENAI, asks("a", content="b"), asks("a", content="b")),
    ],
)
def test_texts_of_results_are_mapped(dialect: Dialect, message: Json, expected: Json) -> None:
    """String results, text blocks of results and errors change; images, calls and other texts don't."""
    assert dialect.map_results(message, str.upper) == expected


@given(parts=st.lists(ANY_TEXT, max_size=4))
def test_mapping_leaves_its_argument_alone(parts: list[str]) -> None:
    """The copy shares nothing that changes."""
    content = [text(part) for part in parts]
    for dialect, message in ((ANTHROPIC, user(result("a", content))), (OPENAI, answers("a", content))):
        mapped = dialect.map_results(message, lambda words: words + "!")
        assert content == [text(part) for part in parts]
        assert dialect.blocks(mapped)[0].text == "\n".join(part + "!" for part in parts)
