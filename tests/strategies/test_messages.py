"""The strategies give what they promise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ebbtide_cli.replay.provider_rules import broken_rules
from tests.strategies.content import Messages
from tests.strategies.messages import (
    FORMATS,
    MARK,
    Format,
    buffers,
    edits,
    exchange,
    formats,
    lineage_indices,
)

Json = dict[str, Any]
Feature = Callable[[Messages], bool]

FAULTS = {"call_without_result", "result_without_call", "duplicate_result", "result_not_first"}


def samples(strategy: st.SearchStrategy[Messages], number: int = 300) -> list[Messages]:
    """Return that many values, the same ones in each run."""
    found: list[Messages] = []

    @settings(
        max_examples=number,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Messages) -> None:
        found.append(value)

    collect()
    return found


def blocks(buffer: Messages) -> Iterator[tuple[Json, Json]]:
    """Yield each message with each of its blocks, those nested in results too."""
    for message in buffer:
        for block in message["content"] if isinstance(message.get("content"), list) else []:
            yield message, block
            for nested in block["content"] if isinstance(block.get("content"), list) else []:
                yield block, nested


def call_lists(buffer: Messages) -> list[list[str]]:
    """Return the ids that each message calls, messages without calls left out."""
    of_blocks = [[b["id"] for m, b in blocks([m]) if b["type"] == "tool_use"] for m in buffer]
    of_keys = [[c["id"] for c in m.get("tool_calls", [])] for m in buffer]
    run: list[str] = []
    of_items = [run]
    for item in buffer:
        if item.get("type", "").endswith("_call") and "call_id" in item:
            run.append(item["call_id"])
        else:
            of_items.append(run := [])
    return [ids for ids in (*of_blocks, *of_keys, *of_items) if ids]


def has_block(kind: str, parent: str = "") -> Feature:
    return lambda buffer: any(
        b["type"] == kind and (not parent or parent in (outer.get("type"), outer.get("role")))
        for outer, b in blocks(buffer)
    )


def has_item(kind: str) -> Feature:
    return has_message(lambda message: message.get("type") == kind)


def has_message(test: Callable[[Json], bool]) -> Feature:
    return lambda buffer: any(test(message) for message in buffer)


def marked(name: str) -> Feature:
    return has_message(lambda message: name in message.get(MARK, {}))


def repeated_id(buffer: Messages) -> bool:
    ids = [name for names in call_lists(buffer) for name in names]
    return len(ids) > len(set(ids))


def run_of(role: str) -> Feature:
    return lambda buffer: any(a.get("role") == b.get("role") == role for a, b in pairwise(buffer))


def says(words: str) -> Feature:
    return lambda buffer: words in json.dumps(buffer, ensure_ascii=False)


def open_call(buffer: Messages) -> bool:
    """Calls that the provider would miss if somebody spoke now."""
    spoken: list[tuple[Format, Json]] = [
        ("anthropic", {"role": "user", "content": "x"}),
        ("openai", {"role": "user", "content": "x"}),
        ("openai_responses", {"role": "user", "content": "x"}),
    ]
    return any("call_without_result" in dict(broken_rules(fmt, [*buffer, more])) for fmt, more in spoken)


def instruction_inside(buffer: Messages) -> bool:
    roles = [message.get("role") in ("system", "developer") for message in buffer]
    return any(roles[i] and not all(roles[:i]) for i in range(len(roles)))


EMPTY: dict[str, Feature] = {
    "null content": has_message(lambda m: "content" in m and m["content"] is None),
    "empty content": has_message(lambda m: m.get("content") == ""),
}

COMMON: dict[str, Feature] = {
    "no message at all": lambda buffer: not buffer,
    "parallel calls": lambda buffer: any(len(ids) > 1 for ids in call_lists(buffer)),
    "an id used again": repeated_id,
    "open calls": open_call,
    "string content": has_message(lambda m: isinstance(m.get("content"), str)),
    "block content": has_message(lambda m: isinstance(m.get("content"), list)),
    "an unknown block": has_block("later_invention"),
    "a run of user messages": run_of("user"),
    "a run of assistant messages": run_of("assistant"),
    "ephemeral": marked("ephemeral"),
    "internal": marked("internal"),
    "pinned": marked("pinned"),
    "a lone surrogate": says("\ud83d "),
    "an emoji": says("\U0001f44d\U0001f3fd"),
    "Chinese, Japanese, Korean": says("\u6771\u4eac"),
    "a special token": says("<|endoftext|>"),
    "a long message": lambda buffer: any(len(json.dumps(m)) > 1000 for m in buffer),
}

FEATURES: dict[Format, dict[str, Feature]] = {
    "anthropic": {
        **COMMON,
        **EMPTY,
        "thinking with a signature": lambda b: any("signature" in x for _, x in blocks(b)),
        "redacted thinking": has_block("redacted_thinking"),
        "a server tool": has_block("server_tool_use"),
        "a server tool's result in a later message": has_message(
            lambda m: (
                isinstance(m["content"], list)
                and bool(m["content"])
                and m["content"][0]["type"] == "web_search_tool_result"
            )
        ),
        "an image in a message": has_block("image", "user"),
        "an image in a result": has_block("image", "tool_result"),
        "a document in a message": has_block("document", "user"),
        "a document in a result": has_block("document", "tool_result"),
        "an empty result": lambda b: any(
            x["type"] == "tool_result" and not x.get("content") for _, x in blocks(b)
        ),
        "a failed result": lambda b: any(x.get("is_error") for _, x in blocks(b)),
        "a text beside results": lambda b: any(
            len({x["type"] for m2, x in blocks([m]) if m2 is m} & {"text", "tool_result"}) == 2 for m in b
        ),
        "a cache mark": lambda b: any("cache_control" in x for _, x in blocks(b)),
        "a cache mark's name in an input": lambda b: any(
            "cache_control" in x.get("input", {}) for _, x in blocks(b)
        ),
        "a null key": lambda b: any(None in x.values() for _, x in blocks(b)),
    },
    "openai": {
        **COMMON,
        **EMPTY,
        "assistant first": lambda b: bool(b) and b[0]["role"] == "assistant",
        "a system or developer message inside": instruction_inside,
        "an image in a message": has_block("image_url", "user"),
        "a document in a message": has_block("file", "user"),
        "no content key": has_message(lambda m: "content" not in m),
        "an empty result": has_message(lambda m: m["role"] == "tool" and m["content"] == ""),
        "arguments that are no object": lambda b: any(
            c["function"]["arguments"] in ("", "{cut", "[1]") for m in b for c in m.get("tool_calls", [])
        ),
        "a refusal": has_message(lambda m: "refusal" in m),
    },
    "openai_responses": {
        **COMMON,
        "reasoning": has_item("reasoning"),
        "reasoning with a null key": has_message(
            lambda m: m.get("type") == "reasoning" and None in m.values()
        ),
        "reasoning between calls": lambda b: any(
            [m.get("type") for m in b[i : i + 3]] == ["function_call", "reasoning", "function_call"]
            for i in range(len(b))
        ),
        "a compaction": has_item("compaction"),
        "a search of the provider": has_item("web_search_call"),
        "a custom call": has_item("custom_tool_call"),
        "a shell's output": has_item("shell_call_output"),
        "a system or developer message inside": instruction_inside,
        "an image in a message": has_block("input_image", "user"),
        "a document in a message": has_block("input_file", "user"),
        "an empty output": has_message(lambda m: m.get("output") == ""),
        "a cache mark": lambda b: any("prompt_cache_breakpoint" in x for _, x in blocks(b)),
        "a refusal": has_block("refusal", "assistant"),
    },
}


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_feature_occurs_in_300_samples(fmt: Format) -> None:
    """What the laws must hold for is really among the conversations they are tried on."""
    found = samples(buffers(fmt))
    assert [name for name, feature in FEATURES[fmt].items() if not any(map(feature, found))] == []


@given(st.data(), formats)
def test_valid_conversations_break_no_provider_rule(data: st.DataObject, fmt: Format) -> None:
    """A provider would take each conversation, marks aside."""
    assert broken_rules(fmt, data.draw(buffers(fmt))) == []


@given(st.data(), formats)
def test_malformed_conversations_break_only_declared_rules(data: st.DataObject, fmt: Format) -> None:
    """A malformed conversation has a fault in its pairing, and no other."""
    rules = {rule for rule, _ in broken_rules(fmt, data.draw(buffers(fmt, malformed=True)))}
    assert rules
    assert rules <= FAULTS


@pytest.mark.parametrize("fmt", FORMATS)
def test_each_kind_of_fault_occurs(fmt: Format) -> None:
    """Calls without result, results without call and second answers all come up."""
    found = {
        rule for buffer in samples(buffers(fmt, malformed=True)) for rule, _ in broken_rules(fmt, buffer)
    }
    assert found >= FAULTS - {"result_not_first"}


@given(st.data(), formats, st.integers(0, 4), st.integers(0, 4))
def test_the_number_of_exchanges_is_kept(data: st.DataObject, fmt: Format, least: int, more: int) -> None:
    """At least as many messages as exchanges asked for; none when none are allowed."""
    buffer = data.draw(buffers(fmt, min_exchanges=least, max_exchanges=least + more))
    assert len(buffer) >= least
    assert buffer == [] or least + more > 0


@given(st.data(), formats)
def test_without_marks_there_are_none(data: st.DataObject, fmt: Format) -> None:
    """The marks can be left out."""
    assert all(MARK not in message for message in data.draw(buffers(fmt, marks=False)))


@given(st.data(), formats)
def test_an_exchange_can_follow_any_valid_conversation_that_is_closed(
    data: st.DataObject, fmt: Format
) -> None:
    """Conversations can be grown exchange by exchange."""
    start: Messages = [{"role": "user", "content": "go"}]
    grown = [m for messages in data.draw(st.lists(exchange(fmt), max_size=4)) for m in messages]
    assert broken_rules(fmt, start + grown) == []


@given(st.data(), formats)
def test_an_edit_changes_what_was_said_from_one_place_on(data: st.DataObject, fmt: Format) -> None:
    """The lineage is the same up to `same`, different right after it, and the argument is left alone."""
    buffer = data.draw(buffers(fmt))
    before = deepcopy(buffer)
    edit = data.draw(edits(buffer))
    assert buffer == before
    old = [buffer[i] for i in lineage_indices(buffer)]
    new = [edit.buffer[i] for i in lineage_indices(edit.buffer)]
    assert len(new) - len(old) == {"inserted": 1, "dropped": -1}.get(edit.kind, 0)
    assert edit.same < max(len(old), len(new))
    assert old[edit.same : edit.same + 1] != new[edit.same : edit.same + 1]


def test_all_kinds_of_edit_occur() -> None:
    """Changed, dropped, inserted and swapped all come up."""
    buffer: Messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    kinds: set[str] = set()

    @settings(max_examples=60, phases=[Phase.generate], derandomize=True, database=None, deadline=None)
    @given(edits(buffer))
    def collect(edit: Any) -> None:
        kinds.add(edit.kind)

    collect()
    assert kinds == {"changed", "dropped", "inserted", "swapped"}


def test_ephemeral_and_system_messages_are_outside_the_lineage() -> None:
    """What counts as said leaves them out, and nothing else."""
    buffer: Messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b", MARK: {"ephemeral": True}},
        {"role": "user", "content": "c", MARK: {"internal": True}},
        {"role": "developer", "content": "d"},
        {"role": "user", "content": "e", MARK: {"pinned": True}},
    ]
    assert lineage_indices(buffer) == [1, 3, 5]
