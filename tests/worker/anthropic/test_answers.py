"""Reading answers: usage of every shape, and the text of every shape."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from anthropic.types import Message
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.contract.record import Usage
from ebbtide_core.summary.model import LIST_FIELDS, Summary
from ebbtide_worker.summarisers import draft
from ebbtide_worker.summarisers.answer import partial_of, usage_of
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault

PAID = Usage(input_tokens=5, calls=1)
BLANK: dict[str, Any] = {
    **{name: [] if name in LIST_FIELDS else "" for name in draft.FIELDS},
    "active_request_state": "none",
}
GOOD: dict[str, Any] = {**BLANK, "session_intent": "Migrate the billing service", "language": "en"}


def message(*content: Any, stop_reason: Any = "end_turn", **more: Any) -> Message:
    """A message as the SDK makes it of a response: unchecked."""
    usage = {"input_tokens": 7, "output_tokens": 3}
    fields = {"content": list(content), "stop_reason": stop_reason, "usage": usage, **more}
    built: Message = Message.construct(**fields)
    return built


def text(value: Any) -> dict[str, str]:
    """A text block."""
    return {"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}


def caught(answer: object) -> SummariserFault:
    """The fault that reading an answer ends in."""
    with pytest.raises(SummariserFault) as found:
        partial_of(answer, draft.FIELDS)
    return found.value


def test_all_kinds_of_tokens_are_told() -> None:
    """What was read from and written to the cache is paid for as well."""
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 4,
    }
    told = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, calls=1)
    answer = message(text(GOOD), usage=usage)
    assert partial_of(answer, draft.FIELDS).usage == told
    assert caught(message(usage=usage, stop_reason="refusal")).usage == told


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], "none", {"input_tokens": None, "output_tokens": "3", "cache_read_input_tokens": -1}],
)
def test_figures_that_are_missing_or_none_count_as_zero(usage: Any) -> None:
    """Cache figures are often null, and a proxy may send anything."""
    assert usage_of(message(text(GOOD), usage=usage)) == Usage(calls=1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("<!doctype html>", FaultKind.UNREADABLE),
        (None, FaultKind.UNREADABLE),
        (Message.construct(), FaultKind.UNREADABLE),
        (message(stop_reason=None), FaultKind.UNREADABLE),
        (message(stop_reason=["x"]), FaultKind.UNREADABLE),
        (message(), FaultKind.EMPTY),
        (message(content=None), FaultKind.UNREADABLE),
        (message(content=7), FaultKind.UNREADABLE),
        (message("words", 5, None), FaultKind.EMPTY),
        (message({"type": "text", "text": None}), FaultKind.EMPTY),
        (message({"type": "thinking", "thinking": "hm", "signature": "s"}), FaultKind.EMPTY),
        (message(text(GOOD), stop_reason="max_tokens"), FaultKind.TRUNCATED),
    ],
)
def test_odd_answers_are_faults(answer: object, kind: FaultKind) -> None:
    """Whatever a 200 brought, nothing but a fault comes of it; a whole text that was cut is one too."""
    assert caught(answer).kind is kind


def test_thinking_before_the_answer_is_passed_over() -> None:
    """Only text blocks are read, together."""
    whole = json.dumps(GOOD)
    thought = {"type": "thinking", "thinking": "{", "signature": "s"}
    answer = message(thought, text(whole[:20]), text(whole[20:]))
    assert partial_of(answer, draft.FIELDS).summary == Summary(
        session_intent=GOOD["session_intent"], language="en"
    )


@pytest.mark.parametrize(
    "frame", ["{}", " {}\n", "```json\n{}\n```", "```\n{}```\n", "\n```JSON \r\n{}\r\n```"]
)
def test_one_fence_is_taken_off(frame: str) -> None:
    """A fenced object is as good as a bare one."""
    found = draft.summary_of(frame.replace("{}", json.dumps(GOOD)), PAID)
    assert found.session_intent == GOOD["session_intent"]


@pytest.mark.parametrize(
    "words", ["{", "[" * 100_000, "Here: {}", "```json\n```json\n{}\n```\n```", "9" * 5_000]
)
def test_what_is_not_json_is_a_fault(words: str) -> None:
    """Prose around the object, two fences, endless nesting."""
    with pytest.raises(SummariserFault) as found:
        draft.summary_of(words, PAID)
    assert (found.value.kind, found.value.usage) == (FaultKind.NOT_JSON, PAID)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"decisions": "sk-secret"}, "decisions"),
        ({"decisions": None, "errors": ["sk-secret", 5]}, "decisions, errors"),
        (
            {"session_intent": ["sk-secret"], "active_request_state": "sk-secret"},
            "session_intent, active_request_state",
        ),
        ({"active_request_state": ["open"], "language": None}, "active_request_state, language"),
    ],
)
def test_a_schema_fault_names_fields_only(change: dict[str, Any], names: str) -> None:
    """Each wrong field is named in order; no value is told."""
    with pytest.raises(SummariserFault) as found:
        draft.summary_of(json.dumps(GOOD | change), PAID)
    assert found.value.kind is FaultKind.SCHEMA
    assert found.value.detail.endswith(f": {names}")
    assert "secret" not in str(found.value)


def test_missing_fields_are_named_and_unknown_ones_are_not() -> None:
    """What was not asked for is passed over: its name is the model's, and may be content."""
    with pytest.raises(SummariserFault) as found:
        draft.summary_of('{"sk-secret": 1}', PAID)
    assert found.value.detail == f"missing or of a wrong type: {', '.join(draft.FIELDS)}"
    assert draft.summary_of(json.dumps({**GOOD, "sk-secret": 1}), PAID).language == "en"
    with pytest.raises(SummariserFault) as listed:
        draft.summary_of('["sk-secret"]', PAID)
    assert (listed.value.kind, listed.value.usage) == (FaultKind.SCHEMA, PAID)


@pytest.mark.parametrize(
    "intent", ["", "  ", "Empty conversation.", "Nothing to summarize", "No messages provided"]
)
def test_a_summary_that_says_nothing_is_a_fault(intent: str) -> None:
    """Well-formed emptiness is not carried on."""
    with pytest.raises(SummariserFault) as found:
        draft.summary_of(json.dumps({**BLANK, "session_intent": intent, "decisions": ["", " "]}), PAID)
    assert (found.value.kind, found.value.usage) == (FaultKind.EMPTY, PAID)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.lists(st.text(max_size=900), max_size=70)


@given(st.fixed_dictionaries({}, optional={name: ITEMS | JSONS | st.text() for name in draft.FIELDS}) | JSONS)
def test_any_json_is_a_summary_or_a_fault(value: Any) -> None:
    """Nothing else comes of it, and a summary is within all limits."""
    with suppress(SummariserFault):
        found = draft.summary_of(json.dumps(value), PAID)
        assert Summary.model_validate(found.model_dump()) == found


@given(st.fixed_dictionaries(dict.fromkeys(LIST_FIELDS, ITEMS)))
def test_lists_of_any_length_are_cut_not_refused(lists: dict[str, list[str]]) -> None:
    """Items that are not blank survive up to the caps, lone surrogates replaced."""
    found = draft.summary_of(json.dumps({**GOOD, **lists, "errors": ["\ud800 x", "y" * 501]}), PAID)
    assert found.errors == ("\ufffd x", "y" * 499 + "…")
    assert all(len(getattr(found, name)) <= 50 for name in LIST_FIELDS)
