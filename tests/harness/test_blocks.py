"""What stays together in a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from ebbtide import mark
from ebbtide.harness import is_ephemeral_message, is_internal_message, render_summary_item
from ebbtide.harness.blocks import Block, blocks
from ebbtide.harness.items import read_item
from tests.harness.talk import answered, assistant, calls, result, user

SUMMARY = render_summary_item(bridge="Go on.", summary_text="Earlier.")


class Call(BaseModel):
    """A call as an SDK's object."""

    id: str
    type: str = "function"


NAMELESS = {"role": "tool", "content": "a result that names no call"}


def read(history: Sequence[Any]) -> list[Block]:
    """The blocks of a history."""
    return blocks([read_item(item, is_ephemeral_message, is_internal_message) for item in history])


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], []),
        ([user(), assistant()], [(0,), (1,)]),
        ([user(), calls("a", "b"), result("b"), result("a"), user()], [(0,), (1, 2, 3), (4,)]),
        ([answered(None, tool_calls=calls("a")["tool_calls"]), result("a")], [(0, 1)]),
        ([calls("a"), result("a"), result("a")], [(0, 1, 2)]),
        ([calls("a"), result("a"), calls("a"), result("a")], [(0, 1), (2, 3)]),
        ([calls("a"), user()], [(0,), (1,)]),
        ([calls("a", "b"), result("a"), user(), result("b"), user()], [(0, 1, 2, 3), (4,)]),
        ([calls("a"), calls("b"), result("a"), result("b")], [(0, 1, 2, 3)]),
        ([user(), result("gone"), user()], [(0, 1), (2,)]),
        ([result("gone"), user()], [(0,), (1,)]),
        ([user(), NAMELESS], [(0,), (1,)]),
    ],
)
def test_calls_and_results_stay_together(history: list[Any], expected: list[tuple[int, ...]]) -> None:
    """A call stays with its results and all in between; a result without a call with what it follows."""
    assert [block.indices for block in read(history)] == expected


def test_calls_that_are_an_sdk_s_objects_stay_with_their_results() -> None:
    """A framework may put the objects of a response into its own messages."""
    call = {"role": "assistant", "content": None, "tool_calls": [Call(id="a"), Call(id="b")]}
    assert [block.indices for block in read([call, result("b"), result("a"), user()])] == [(0, 1, 2), (3,)]


def test_calls_that_are_no_json_pair_with_nothing() -> None:
    """Reading a history does not fail on them."""
    odd = {"role": "assistant", "content": None, "tool_calls": [object()]}
    assert [block.indices for block in read([odd, user()])] == [(0,), (1,)]


def test_a_legacy_call_stays_with_its_result() -> None:
    """A function call without id is paired by its name."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}
    assert [b.indices for b in read([call, {"role": "function", "name": "read", "content": "x"}])] == [(0, 1)]


def test_a_summary_is_alone_wherever_it_stands() -> None:
    """Also between a call and its late result, so that it can be replaced."""
    assert read([SUMMARY, user()]) == [Block((0,), summary=True), Block((1,))]
    assert read([calls("a"), SUMMARY, result("a")]) == [Block((1,), summary=True), Block((0, 2))]


def test_a_result_without_call_after_a_summary_goes_with_it() -> None:
    """Its call was summarised, so standing alone it would be refused by the provider."""
    assert read([SUMMARY, result("gone"), user()]) == [Block((0, 1), summary=True), Block((2,))]


def test_ephemeral_items_are_in_no_block_and_part_none() -> None:
    """An ephemeral message between a call and its result leaves the pair as it is."""
    note = mark(user(), ephemeral=True)
    assert read([note, calls("a"), note, result("a")]) == [Block((1, 3))]


def test_internal_items_are_blocks_of_their_own() -> None:
    """But not within a call and its results, which count as talk."""
    context = mark(user(), internal=True)
    assert read([user(), context, context]) == [
        Block((0,)),
        Block((1,), internal=True),
        Block((2,), internal=True),
    ]
    assert read([calls("a"), context, result("a")]) == [Block((0, 1, 2))]


def test_what_can_not_be_summarised_is_fixed() -> None:
    """A pinned message, and a call whose result is ephemeral (or the reverse), hold their block."""
    assert read([mark(user(), pinned=True), user()]) == [Block((0,), fixed=True), Block((1,))]
    assert read([calls("a"), mark(result("a"), ephemeral=True)]) == [Block((0,), fixed=True)]
    assert read([mark(calls("a"), ephemeral=True), result("a")]) == [Block((1,), fixed=True)]
