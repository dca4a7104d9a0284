"""What OpenAI's Responses API refuses: the dialect's rules, and the independent ones beside them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.replay.provider_rules import broken_rules, new_violations
from ebbtide_core.dialects import openai_responses_rules
from tests.dialects.examples import RESPONSES, Json, invoked, item, reasoned, returned, said
from tests.strategies.messages import buffers

USER, ANSWER = said("user", "go"), said("assistant", "ok")

VALID: dict[str, list[Json]] = {
    "nothing": [],
    "assistant first": [ANSWER, USER],
    "calls": [USER, reasoned(), invoked("a"), invoked("b"), returned("b"), returned("a"), ANSWER],
    "pending calls": [USER, invoked("a"), invoked("b"), returned("b")],
    "late output": [invoked("a"), USER, returned("a")],
    "reused id": [*[m for _ in range(3) for m in (invoked("a"), returned("a"))]],
    "local shell by id": [
        item("local_shell_call", call_id="a"),
        item("local_shell_call_output", id="a", output="x"),
    ],
    "compactions": [
        USER,
        item("compaction", encrypted_content="g"),
        USER,
        item("compaction", encrypted_content="h"),
    ],
    "approval": [
        item("mcp_approval_request", id="m"),
        item("mcp_approval_response", approval_request_id="m"),
    ],
    "trigger": [USER, item("compaction_trigger")],
    "developer inside": [USER, reasoned(), said("developer", "x"), ANSWER],
    "empty text": [said("user", "")],
}


@pytest.mark.parametrize("messages", VALID.values(), ids=VALID.keys())
def test_what_the_api_takes(messages: list[Json]) -> None:
    """A valid request breaks no rule, in the dialect's book nor in the independent one."""
    assert RESPONSES.violations(messages) == []
    assert broken_rules("openai_responses", messages) == []


BROKEN: dict[str, tuple[list[Json], list[tuple[str, int]], list[tuple[str, int]]]] = {
    "no output": ([invoked("a"), USER], [("call-without-result", 0)], [("call_without_result", 0)]),
    "half a batch": (
        [invoked("a"), invoked("b"), returned("a"), ANSWER],
        [("call-without-result", 1)],
        [("call_without_result", 1)],
    ),
    "left and called again": (
        [invoked("a"), USER, invoked("a"), returned("a")],
        [("call-without-result", 0)],
        [("call_without_result", 0)],
    ),
    "no call": ([USER, returned("a")], [("result-without-call", 1)], [("result_without_call", 1)]),
    "twice": (
        [invoked("a"), returned("a"), returned("a")],
        [("duplicate-result", 2)],
        [("duplicate_result", 2)],
    ),
    "same id": (
        [invoked("a"), invoked("a"), returned("a")],
        [("duplicate-call", 1)],
        [("duplicate_call", 1)],
    ),
    "reasoning alone": ([reasoned(), USER], [("reasoning-without-item", 0)], [("reasoning_alone", 0)]),
    "reasoning last": ([USER, reasoned()], [("reasoning-without-item", 1)], [("reasoning_alone", 1)]),
    "odd role": ([said("tool", "x")], [("unknown-role", 0)], [("unknown_role", 0)]),
    "no content": ([said("user")], [("empty-content", 0)], [("empty_content", 0)]),
    "approval of nothing": (
        [item("mcp_approval_response", approval_request_id="m")],
        [("approval-without-request", 0)],
        [("approval_without_request", 0)],
    ),
    "trigger inside": (
        [item("compaction_trigger"), USER],
        [("trigger-not-last", 0)],
        [("items_after_trigger", 0)],
    ),
}


@pytest.mark.parametrize(("messages", "expected", "second"), BROKEN.values(), ids=BROKEN.keys())
def test_what_the_api_refuses(
    messages: list[Json], expected: list[tuple[str, int]], second: list[tuple[str, int]]
) -> None:
    """Each broken rule is listed once, at the item that breaks it, in both books."""
    assert [(broken.rule, broken.index) for broken in RESPONSES.violations(messages)] == expected
    assert broken_rules("openai_responses", messages) == second


def test_each_rule_of_the_table_is_broken_here() -> None:
    """The documented rules are exactly those that the tests break."""
    table = [
        line.split("|")[1].strip()
        for line in (openai_responses_rules.__doc__ or "").splitlines()
        if line.startswith("| ")
    ]
    assert set(table[2:]) == {rule for _, expected, _ in BROKEN.values() for rule, _ in expected}


def test_a_call_that_lost_its_reasoning_is_found() -> None:
    """The API refuses it, though nothing in the request itself shows what is missing."""
    raw = [USER, reasoned(), invoked("a"), returned("a")]
    assert new_violations("openai_responses", raw, raw) == []
    assert new_violations("openai_responses", raw, [USER, *raw[2:]]) == [("reasoning_dropped", 1)]
    edited = [USER, reasoned("rs_1", "words"), *raw[2:]]
    assert ("signed_block_changed", 1) in new_violations("openai_responses", raw, edited)


@given(data=st.data(), malformed=st.booleans())
def test_both_books_find_as_much(data: st.DataObject, malformed: bool) -> None:
    """Written independently, they judge the same conversations alike."""
    messages = data.draw(buffers("openai_responses", malformed=malformed, marks=False))
    ours = [(b.rule.replace("-", "_"), b.index) for b in RESPONSES.violations(messages)]
    assert sorted(ours) == sorted(broken_rules("openai_responses", messages))


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.sampled_from(["message", "reasoning", "function_call", "user", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "type", "content", "call_id", "id", "output"]), inner)
    ),
    max_leaves=12,
)


@given(messages=st.lists(json_values, max_size=5))
def test_any_json_is_judged_without_raising(messages: list[Any]) -> None:
    """A transcript may hold anything."""
    assert all(0 <= index < len(messages) for _, index in broken_rules("openai_responses", messages))
    assert new_violations("openai_responses", messages, messages) == []
