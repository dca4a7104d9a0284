"""The tests' own checker of provider rules: what is valid passes, and each rule is shown broken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.replay.provider_rules import Format, broken_rules, new_violations
from tests.strategies.messages import formats

Json = dict[str, Any]


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def call(name: str) -> Json:
    return {"type": "tool_use", "id": name, "name": "bash", "input": {}}


def result(name: str, content: Any = "ok") -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def thinking(words: str, signature: str = "s1") -> Json:
    return {"type": "thinking", "thinking": words, "signature": signature}


def user(*blocks: Any) -> Json:
    return {"role": "user", "content": blocks[0] if blocks and isinstance(blocks[0], str) else list(blocks)}


def assistant(*blocks: Any) -> Json:
    return {**user(*blocks), "role": "assistant"}


def chat(role: str, content: Any, **more: Any) -> Json:
    return {"role": role, "content": content, **more}


def calls(*names: str, content: Any = None) -> Json:
    functions = [{"id": n, "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in names]
    return chat("assistant", content, tool_calls=functions)


def tool(name: str, content: Any = "ok") -> Json:
    return chat("tool", content, tool_call_id=name)


COMPACTION: Json = {"type": "compaction", "content": "so far", "signature": "c1"}
SEARCH: Json = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {}}
FOUND: Json = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}

VALID_ANTHROPIC: dict[str, list[Json]] = {
    "nothing": [],
    "plain": [user("go"), assistant("done"), user("thanks")],
    "parallel calls": [
        user("go"),
        assistant(call("a"), call("b")),
        user(result("b"), result("a"), text("and")),
    ],
    "answers in two messages": [
        user("go"),
        assistant(call("a"), call("b")),
        user(result("a")),
        user(result("b")),
    ],
    "calls in two messages": [
        user("go"),
        assistant(call("a")),
        assistant(call("b")),
        user(result("a"), result("b")),
    ],
    "id used again": [user("go"), *[assistant(call("a")), user(result("a"))] * 2],
    "open call": [user("go"), assistant(text("look"), call("a"))],
    "runs of one role": [user("a"), user("b"), assistant("c"), assistant("d"), user("e")],
    "empty last answer": [user("go"), assistant("")],
    "empty result": [user("go"), assistant(call("a")), user(result("a", []))],
    "thinking": [user("go"), assistant(thinking("hm"), text("so"), call("a")), user(result("a"))],
    "server tool": [user("go"), assistant(SEARCH, FOUND, text("found")), user("and?")],
    "server tool across a pause": [user("go"), assistant(SEARCH), assistant(FOUND, text("found"))],
    "compaction first": [assistant(COMPACTION), user("go on")],
    "system after a user": [user("go"), chat("system", "be brief"), assistant("ok")],
    "system within a turn": [
        user("go"),
        assistant(call("a")),
        user(result("a")),
        chat("system", "x"),
        user("y"),
    ],
}

VALID_OPENAI: dict[str, list[Json]] = {
    "nothing": [],
    "assistant first": [chat("assistant", "hello"), chat("user", "go")],
    "parallel calls": [chat("user", "go"), calls("a", "b"), tool("b"), tool("a"), chat("assistant", "done")],
    "open calls": [chat("user", "go"), calls("a", "b"), tool("a")],
    "id used again": [chat("user", "go"), *[calls("a"), tool("a")] * 2],
    "empty texts": [chat("user", ""), chat("assistant", ""), calls("a", content=""), tool("a", "")],
    "developer in the middle": [chat("user", "go"), chat("developer", "x"), chat("system", "y")],
    "empty list beside calls": [calls("a", content=[]), tool("a")],
    "refusal": [chat("user", "go"), chat("assistant", None, refusal="no")],
}


@pytest.mark.parametrize("name", VALID_ANTHROPIC)
def test_valid_anthropic_messages_break_no_rule(name: str) -> None:
    """A request that the Messages API takes is not objected to."""
    assert broken_rules("anthropic", VALID_ANTHROPIC[name]) == []


@pytest.mark.parametrize("name", VALID_OPENAI)
def test_valid_chat_messages_break_no_rule(name: str) -> None:
    """A request that Chat Completions takes is not objected to."""
    assert broken_rules("openai", VALID_OPENAI[name]) == []


BROKEN_ANTHROPIC: list[tuple[str, int, list[Any]]] = [
    ("not_a_message", 1, [user("go"), "text"]),
    ("not_a_message", 0, [{"content": "x"}]),
    ("unknown_role", 1, [user("go"), chat("tool", "x")]),
    ("first_role", 0, [assistant("hello"), user("go")]),
    ("first_role", 0, [chat("system", "x"), user("go")]),
    ("system_placement", 2, [user("go"), assistant("ok"), chat("system", "x"), user("y")]),
    ("empty_content", 0, [user(""), assistant("x")]),
    ("empty_content", 1, [user("go"), chat("assistant", None), user("x")]),
    ("empty_content", 1, [user("go"), user()]),
    ("blank_text", 0, [user(text("")), assistant("x")]),
    ("blank_text", 0, [user(" \n"), assistant("x")]),
    ("blank_text", 2, [user("go"), assistant(call("a")), user(result("a", [text("")]))]),
    ("thinking_outside_assistant", 0, [user(thinking("hm"), text("x"))]),
    ("call_outside_assistant", 0, [user(call("a"))]),
    ("result_outside_user", 1, [user("go"), assistant(result("a"))]),
    ("thinking_last", 1, [user("go"), assistant(text("x"), thinking("hm")), user("y")]),
    ("duplicate_call", 1, [user("go"), assistant(call("a"), call("a")), user(result("a"))]),
    ("duplicate_call", 2, [user("go"), assistant(call("a")), assistant(call("a")), user(result("a"))]),
    ("duplicate_result", 3, [user("go"), assistant(call("a")), user(result("a")), user(result("a"))]),
    ("result_without_call", 0, [user(result("a"))]),
    ("result_without_call", 2, [user("go"), assistant("x"), user(result("a"))]),
    (
        "result_without_call",
        4,
        [user("go"), assistant(call("a")), user(result("a")), assistant("x"), user(result("a"))],
    ),
    ("call_without_result", 1, [user("go"), assistant(call("a")), user("stop")]),
    ("call_without_result", 1, [user("go"), assistant(call("a"), call("b")), user(result("b"))]),
    ("result_not_first", 2, [user("go"), assistant(call("a")), user(text("x"), result("a"))]),
    ("result_not_first", 3, [user("go"), assistant(call("a")), user("x"), user(result("a"))]),
    ("compaction_misplaced", 0, [assistant(text("x"), COMPACTION), user("go")]),
    ("compaction_misplaced", 1, [user("go"), assistant(COMPACTION), user("go")]),
    ("provider_result_alone", 1, [user("go"), assistant(FOUND, text("found")), user("and?")]),
    ("compaction_repeated", 2, [assistant(COMPACTION), user("go"), assistant(COMPACTION), user("on")]),
]

BROKEN_OPENAI: list[tuple[str, int, list[Any]]] = [
    ("not_a_message", 0, [None]),
    ("unknown_role", 0, [chat("model", "x")]),
    ("empty_content", 0, [chat("user", None)]),
    ("empty_content", 0, [chat("user", [])]),
    ("empty_assistant", 0, [chat("assistant", [])]),
    ("empty_assistant", 1, [chat("user", "go"), chat("assistant", None)]),
    ("empty_assistant", 0, [{"role": "assistant"}]),
    ("empty_tool_calls", 0, [chat("assistant", "x", tool_calls=[])]),
    ("call_outside_assistant", 0, [{**calls("a", content="x"), "role": "user"}]),
    ("duplicate_call", 0, [calls("a", "a"), tool("a")]),
    ("duplicate_result", 2, [calls("a"), tool("a"), tool("a")]),
    ("result_without_call", 0, [tool("a")]),
    ("result_without_call", 1, [calls("a"), tool("b")]),
    ("result_without_call", 3, [calls("a"), tool("a"), chat("user", "x"), tool("a")]),
    ("result_without_call", 1, [chat("user", "go"), {"role": "tool", "content": "x"}]),
    ("call_without_result", 0, [calls("a"), chat("user", "stop")]),
    ("call_without_result", 0, [calls("a", "b"), tool("a"), chat("system", "x"), tool("b")]),
    ("call_without_result", 0, [calls("a"), calls("b"), tool("b")]),
]


@pytest.mark.parametrize(("rule", "index", "messages"), BROKEN_ANTHROPIC)
def test_each_anthropic_rule_is_found_where_it_is_broken(rule: str, index: int, messages: list[Any]) -> None:
    """A request that the Messages API rejects is reported with the rule and the message."""
    assert (rule, index) in broken_rules("anthropic", messages)


@pytest.mark.parametrize(("rule", "index", "messages"), BROKEN_OPENAI)
def test_each_chat_rule_is_found_where_it_is_broken(rule: str, index: int, messages: list[Any]) -> None:
    """A request that Chat Completions rejects is reported with the rule and the message."""
    assert (rule, index) in broken_rules("openai", messages)


def test_one_fault_is_reported_once() -> None:
    """Each missing result counts, and nothing else is made of it."""
    messages = [user("go"), assistant(call("a"), call("b")), user("stop")]
    assert broken_rules("anthropic", messages) == [("call_without_result", 1)] * 2
    assert broken_rules("openai", [calls("a", "b"), chat("user", "stop")]) == [("call_without_result", 0)] * 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just("tool_use") | st.just("user"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "id", "tool_use_id", "tool_calls"]), inner
        )
    ),
    max_leaves=12,
)


@given(fmt=formats, messages=st.lists(json_values, max_size=5))
def test_any_json_is_judged_without_raising(fmt: Format, messages: list[Any]) -> None:
    """A transcript may hold anything; the checker answers with rules and indices of the list."""
    assert all(0 <= index < len(messages) for _, index in broken_rules(fmt, messages))
    assert all(rule != "signed_block_changed" for rule, _ in new_violations(fmt, messages, messages))


def test_a_fault_of_the_raw_history_is_not_new() -> None:
    """What the history broke before us is not the view's fault; one more of it is."""
    raw = [user("go"), assistant(call("a")), user("stop")]
    assert new_violations("anthropic", raw, raw) == []
    assert new_violations("anthropic", raw, [user("summary"), *raw[1:]]) == []
    sent = [*raw, assistant(call("b")), user("x")]
    assert new_violations("anthropic", raw, sent) == [("call_without_result", 1), ("call_without_result", 3)]


def test_a_cut_between_call_and_result_is_new() -> None:
    """A tail that begins with a result breaks a rule in both formats that the history keeps."""
    raw = [user("go"), assistant(call("a")), user(result("a")), assistant("done")]
    assert new_violations("anthropic", raw, [user("summary"), *raw[2:]]) == [("result_without_call", 1)]
    history = [chat("user", "go"), calls("a"), tool("a"), chat("assistant", "done")]
    assert new_violations("openai", history, [chat("user", "s"), *history[2:]]) == [
        ("result_without_call", 1)
    ]


def test_a_mark_of_ours_must_not_be_sent() -> None:
    """The buffer keeps marks, the view has none."""
    raw = [{**user("go"), "ebbtide": {"pinned": True}}]
    assert new_violations("anthropic", raw, [user("go")]) == []
    assert new_violations("anthropic", raw, raw) == [("mark_sent", 0)]


def test_a_signed_block_is_whole_or_gone() -> None:
    """Thinking and compaction blocks may be left out of a view, never edited or made up."""
    raw = [user("go"), assistant(thinking("long words"), text("x")), user("y")]
    assert new_violations("anthropic", raw, raw) == []
    assert new_violations("anthropic", raw, [user("go"), assistant(text("x")), user("y")]) == []
    edited = [user("go"), assistant(thinking("long"), text("x")), user("y")]
    assert new_violations("anthropic", raw, edited) == [("signed_block_changed", 1)]
    assert new_violations("anthropic", raw, [assistant(COMPACTION), user("y")]) == [
        ("signed_block_changed", 0)
    ]
