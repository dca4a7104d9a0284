"""Provider rules: what each API rejects is named, with the index where it broke."""

from __future__ import annotations

import pytest

from ebbtide_core.dialects import anthropic_rules, openai_chat_rules
from tests.dialects.examples import (
    ANTHROPIC,
    OPENAI,
    Json,
    answers,
    asks,
    assistant,
    call,
    result,
    text,
    user,
)

COMPACTION = {"type": "compaction", "content": "so far", "signature": "S"}
SYSTEM = {"role": "system", "content": "be kind"}
DEVELOPER = {"role": "developer", "content": "be kind"}


def thinking(words: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": "S"}


VALID_ANTHROPIC: dict[str, list[Json]] = {
    "nothing": [],
    "talk": [user("a"), assistant("b"), user("c")],
    "one exchange": [user("go"), assistant(call("a")), user(result("a"))],
    "parallel calls": [
        user("go"),
        assistant(call("a"), call("b")),
        user(result("b"), result("a"), text("and")),
    ],
    "results in two messages": [
        user("go"),
        assistant(call("a"), call("b")),
        user(result("a")),
        user(result("b")),
    ],
    "calls in two messages": [user("go"), assistant(thinking("t"), call("a")), assistant(call("b"))],
    "pending call": [user("go"), assistant(text("x"), call("a"))],
    "user run": [user("a"), user("b"), assistant("c")],
    "reused id": [user("go"), *[m for _ in range(3) for m in (assistant(call("a")), user(result("a")))]],
    "system between call and result": [
        SYSTEM,
        user("go"),
        assistant(call("a")),
        SYSTEM,
        user(result("a")),
        SYSTEM,
    ],
    "empty last assistant": [user("a"), assistant()],
    "empty text in last assistant": [user("a"), assistant(text(""))],
    "empty result": [user("go"), assistant(call("a")), user(result("a", ""))],
    "compacted": [assistant(COMPACTION), user("on")],
    "compaction in a user message": [user(COMPACTION, text("on"))],
    "server tool": [user("go"), assistant({"type": "server_tool_use", "id": "s"}), user("next")],
    "bare string": [{"role": "user", "content": ["words"]}],
}


@pytest.mark.parametrize("messages", VALID_ANTHROPIC.values(), ids=VALID_ANTHROPIC.keys())
def test_what_anthropic_accepts(messages: list[Json]) -> None:
    """A valid request breaks no rule."""
    assert ANTHROPIC.violations(messages) == []


BROKEN_ANTHROPIC: dict[str, tuple[list[Json], list[tuple[str, int]]]] = {
    "result without call": (
        [user("go"), user(result("a"))],
        [("result-after-content", 1), ("result-without-call", 1)],
    ),
    "result first": ([user(result("a"))], [("result-without-call", 0)]),
    "call cut from its result": (
        [user("go"), assistant(call("a")), user("b")],
        [("call-without-result", 1)],
    ),
    "half a batch": (
        [user("go"), assistant(call("a"), call("b")), user(result("a"))],
        [("call-without-result", 1)],
    ),
    "result two turns on": (
        [user("go"), assistant(call("a")), user("b"), assistant("c"), user(result("a"))],
        [("call-without-result", 1), ("result-without-call", 4)],
    ),
    "result twice": (
        [user("go"), assistant(call("a")), user(result("a")), user(result("a"))],
        [("duplicate-result", 3)],
    ),
    "call twice": (
        [user("go"), assistant(call("a")), assistant(call("a")), user(result("a"))],
        [("duplicate-call", 2)],
    ),
    "assistant first": ([SYSTEM, assistant("a"), user("b")], [("first-not-user", 1)]),
    "result behind text": (
        [user("go"), assistant(call("a")), user(text("stop"), result("a"))],
        [("result-after-content", 2)],
    ),
    "result behind text of the message before": (
        [user("go"), assistant(call("a")), user("stop"), user(result("a"))],
        [("result-after-content", 3)],
    ),
    "empty string": ([user(""), assistant("a")], [("empty-text", 0)]),
    "white space": ([user(text(" \n")), assistant("a")], [("empty-text", 0)]),
    "no blocks": ([user("a"), assistant(), user("b")], [("empty-content", 1)]),
    "null content": ([{"role": "user", "content": None}], [("empty-content", 0)]),
    "compaction behind a message": ([user("a"), assistant(COMPACTION)], [("compaction-not-first", 1)]),
    "compaction behind a block": (
        [assistant(text("a"), COMPACTION), user("b")],
        [("first-not-user", 0), ("compaction-not-first", 0)],
    ),
    "two compactions": (
        [assistant(COMPACTION), user("a"), assistant(COMPACTION), user("b")],
        [("compaction-not-first", 2), ("compaction-twice", 2)],
    ),
    "developer": ([DEVELOPER, user("a")], [("unknown-role", 0)]),
    "tool role": ([user("a"), {"role": "tool", "content": "b"}], [("unknown-role", 1)]),
    "result of a server tool alone": (
        [user("go"), assistant({"type": "web_search_tool_result", "tool_use_id": "s", "content": []})],
        [("result-without-use", 1)],
    ),
}


@pytest.mark.parametrize(("messages", "expected"), BROKEN_ANTHROPIC.values(), ids=BROKEN_ANTHROPIC.keys())
def test_what_anthropic_rejects(messages: list[Json], expected: list[tuple[str, int]]) -> None:
    """Each broken rule is listed once, at the message that breaks it."""
    found = [(broken.rule, broken.index) for broken in ANTHROPIC.violations(messages)]
    assert sorted(found) == sorted(expected)
    assert [index for _, index in found] == sorted(index for _, index in found)


def legacy(name: str) -> Json:
    return {"role": "assistant", "content": None, "function_call": {"name": name, "arguments": "{}"}}


VALID_OPENAI: dict[str, list[Json]] = {
    "nothing": [],
    "assistant first": [assistant("hi"), user("a")],
    "parallel calls": [user("go"), asks("a", "b"), answers("b"), answers("a"), user("next")],
    "pending calls": [user("go"), asks("a", "b")],
    "reused id": [user("go"), *[m for _ in range(3) for m in (asks("a"), answers("a"))]],
    "empty answer": [user("go"), asks("a"), answers("a", "")],
    "legacy": [user("go"), legacy("f"), {"role": "function", "name": "f", "content": "1"}, legacy("f")],
    "system in the middle": [SYSTEM, user("a"), DEVELOPER, assistant("b")],
    "refusal": [user("a"), {"role": "assistant", "content": None, "refusal": "no"}],
    "empty string": [user("a"), assistant(""), user("")],
}


@pytest.mark.parametrize("messages", VALID_OPENAI.values(), ids=VALID_OPENAI.keys())
def test_what_openai_accepts(messages: list[Json]) -> None:
    """A valid request breaks no rule."""
    assert OPENAI.violations(messages) == []


BROKEN_OPENAI: dict[str, tuple[list[Json], list[tuple[str, int]]]] = {
    "tool message first": ([answers("a")], [("result-without-call", 0)]),
    "tool message behind a user": (
        [user("go"), asks("a"), user("b"), answers("a")],
        [("call-without-result", 1), ("result-without-call", 3)],
    ),
    "half a batch": ([asks("a", "b"), answers("a"), user("next")], [("call-without-result", 0)]),
    "half a batch at the end": ([asks("a", "b"), answers("a")], [("call-without-result", 0)]),
    "result twice": ([asks("a"), answers("a"), answers("a")], [("duplicate-result", 2)]),
    "calls one behind the other": (
        [user("go"), asks("a"), asks("b"), answers("a"), answers("b"), user("and?")],
        [("call-without-result", 1)],
    ),
    "answer without id": (
        [asks("a"), {"role": "tool", "content": "b"}, answers("a")],
        [("result-without-call", 1)],
    ),
    "system behind a call": (
        [asks("a"), SYSTEM, answers("a")],
        [("call-without-result", 0), ("result-without-call", 2)],
    ),
    "empty assistant": ([user("a"), {"role": "assistant", "content": None}], [("empty-assistant", 1)]),
    "empty list": (
        [user("a"), {"role": "assistant", "content": [], "tool_calls": []}],
        [("empty-assistant", 1)],
    ),
    "odd role": ([{"role": "human", "content": "a"}], [("unknown-role", 0)]),
}


@pytest.mark.parametrize(("messages", "expected"), BROKEN_OPENAI.values(), ids=BROKEN_OPENAI.keys())
def test_what_openai_rejects(messages: list[Json], expected: list[tuple[str, int]]) -> None:
    """Each broken rule is listed once, at the message that breaks it."""
    found = [(broken.rule, broken.index) for broken in OPENAI.violations(messages)]
    assert sorted(found) == sorted(expected)
    assert [index for _, index in found] == sorted(index for _, index in found)


@pytest.mark.parametrize(
    ("module", "cases"),
    [(anthropic_rules, BROKEN_ANTHROPIC), (openai_chat_rules, BROKEN_OPENAI)],
    ids=["anthropic", "openai"],
)
def test_each_rule_of_the_table_is_broken_here(
    module: object, cases: dict[str, tuple[object, list[tuple[str, int]]]]
) -> None:
    """The documented rules are exactly those that the tests break."""
    table = [
        line.split("|")[1].strip() for line in (module.__doc__ or "").splitlines() if line.startswith("| ")
    ]
    assert set(table[2:]) == {rule for _, expected in cases.values() for rule, _ in expected}


def test_details_don_t_grow_with_the_input() -> None:
    """An id of a megabyte is shown in part."""
    (broken,) = OPENAI.violations([answers("a" * 1_000_000)])
    assert len(broken.detail) < 200
