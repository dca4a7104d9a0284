"""Swap: what a record makes of a buffer, and which records are of use to it."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core import swap
from ebbtide_core.contract.record import RecordHeader, SummaryRecord, body_digest
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.errors import NotApplicable
from ebbtide_core.lineage.buffer import Buffer, Kind
from ebbtide_core.lineage.chain import Position
from ebbtide_core.summary.message import recognise
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    answers,
    asks,
    assistant,
    call,
    figures,
    marked,
    reading,
    result,
    system,
    user,
)
from tests.laws.world import World

PINNED = marked(user("rule"), pinned=True)
DATE = marked(user("date"), ephemeral=True)


def record_of(messages: list[Any], dialect: Dialect = ANTHROPIC, version: int = 1) -> SummaryRecord:
    """The record of a compaction that keeps the newest exchange."""
    world = World(dialect.name, figures(), 0)  # type: ignore[arg-type]
    buffer = world.read(messages)
    cut = world.cut(buffer)
    assert cut is not None
    return world.record(buffer, cut, version)


def names(done: swap.Swap, messages: list[Any]) -> list[Any]:
    """The messages after a swap as indices before it; S is the summary message."""
    return [
        "S" if m is done.summary_message else next(i for i, o in enumerate(messages) if o is m)
        for m in done.messages
    ]


@pytest.mark.parametrize(
    ("messages", "dialect", "expected", "removed"),
    [
        ([user("a"), assistant("b"), user("c")], ANTHROPIC, ["S", 2], (0, 1)),
        ([system("s"), user("a"), assistant("b"), user("c")], OPENAI, [0, "S", 3], (1, 2)),
        ([system("s"), user("a"), system("d"), assistant("b"), user("c")], OPENAI, [0, 2, "S", 4], (1, 3)),
        ([user("a"), system("d"), assistant("b"), user("c")], ANTHROPIC, ["S", 1, 3], (0, 2)),
        ([user("a"), assistant("b"), system("d"), user("c")], ANTHROPIC, ["S", 2, 3], (0, 1)),
        ([user("a"), PINNED, assistant("b"), user("c")], ANTHROPIC, ["S", 1, 3], (0, 2)),
        ([user("a"), DATE, assistant("b"), user("c")], ANTHROPIC, ["S", 1, 3], (0, 2)),
        ([DATE, user("a"), PINNED, assistant("b"), user("c")], ANTHROPIC, ["S", 0, 2, 4], (1, 3)),
        ([user("a"), system("d"), PINNED, assistant("b"), user("c")], ANTHROPIC, ["S", 1, 2, 4], (0, 3)),
        ([user("a"), asks("x"), answers("x"), user("c")], OPENAI, ["S", 3], (0, 1, 2)),
        ([user("a"), assistant("b"), user("c"), DATE], ANTHROPIC, ["S", 2, 3], (0, 1)),
    ],
)
def test_a_swap_puts_the_summary_for_what_lies_before(
    messages: list[Any], dialect: Dialect, expected: list[Any], removed: tuple[int, ...]
) -> None:
    """System messages gather in front of it, or behind it where a user opened the request; carried and
    ephemeral ones follow; the tail stays."""
    done = swap.apply(record_of(messages, dialect), reading(messages, dialect))
    assert names(done, messages) == expected
    assert done.removed == removed


def test_a_swap_says_where_the_carried_messages_stand() -> None:
    """By their index in the new buffer; ephemeral ones are not among them."""
    messages = [system("s"), user("a"), DATE, PINNED, assistant("b"), user("c")]
    done = swap.apply(record_of(messages, OPENAI), reading(messages, OPENAI))
    assert names(done, messages) == [0, "S", 2, 3, 5]
    assert done.carried == (3,)
    found = reading(list(done.messages), OPENAI)
    assert [e.kind for e in found.entries] == [
        Kind.SYSTEM,
        Kind.SUMMARY,
        Kind.EPHEMERAL,
        Kind.CARRIED,
        Kind.SPOKEN,
    ]


def test_a_summary_message_is_a_user_s_and_names_its_record() -> None:
    """Version, position and body stand in its markers."""
    messages = [user("a"), assistant("b"), user("c")]
    record = record_of(messages, version=4)
    done = swap.apply(record, reading(messages))
    assert (done.version, done.position) == (4, record.position)
    assert done.summary_message["role"] == "user"
    marked_ = recognise(done.summary_message["content"])
    assert marked_ is not None
    assert (marked_.version, marked_.position, marked_.body) == (4, record.position, record.body)
    assert marked_.text == record.text


def test_a_swap_replaces_the_summary_before_it() -> None:
    """There is one summary message, of the newest record."""
    messages = [user("a"), assistant("b"), user("c")]
    first = list(swap.apply(record_of(messages), reading(messages)).messages)
    grown = [*first, assistant("d"), user("e")]
    second = swap.apply(record_of(grown, version=2), reading(grown))
    assert names(second, grown) == ["S", 3]
    assert second.removed == (0, 1, 2)
    buffer = reading(list(second.messages))
    assert buffer.summary is not None
    assert (buffer.summary.version, buffer.chain.tip.count) == (2, 5)


def test_an_older_record_does_not_apply_to_a_buffer_that_went_on() -> None:
    """Its position lies before what the buffer can show."""
    messages = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]
    early, late = record_of(messages[:3]), record_of(messages, version=2)
    swapped = reading(list(swap.apply(late, reading(messages)).messages))
    with pytest.raises(NotApplicable, match="version 1 "):
        swap.apply(early, swapped)


def test_a_message_pinned_since_makes_a_record_useless() -> None:
    """The pin wins: the buffer stays, and the next record carries the message."""
    messages = [user("a"), user("rule"), assistant("b"), user("c")]
    record = record_of(messages)
    pinned = [PINNED if m == user("rule") else m for m in messages]
    with pytest.raises(NotApplicable, match="message 1 was pinned"):
        swap.apply(record, reading(pinned))
    assert swap.apply(record_of(pinned), reading(pinned)).carried == (1,)


def test_a_message_unpinned_since_is_carried_once_more() -> None:
    """The record counts on it."""
    messages = [user("a"), PINNED, assistant("b"), user("c")]
    record = record_of(messages)
    freed = [user("rule") if m is PINNED else m for m in messages]
    done = swap.apply(record, reading(freed))
    assert names(done, freed) == ["S", 1, 3]


def test_an_ephemeral_result_of_a_call_that_leaves_makes_a_record_useless() -> None:
    """It would stand there without its call."""
    messages = [user("a"), assistant(call("t1")), user("never mind"), assistant("b"), user("c")]
    record = record_of(messages)
    late = [*messages[:2], marked(user(result("t1")), ephemeral=True), *messages[2:]]
    with pytest.raises(NotApplicable, match="ephemeral"):
        swap.apply(record, reading(late))


@pytest.mark.parametrize(
    "text", ["no summary at all", "", "# Summary of the earlier conversation\n\n## x\nhm"]
)
def test_a_record_whose_text_is_no_summary_is_refused(text: str) -> None:
    """A buffer would not know its summary message again, so its chain would be lost."""
    messages = [user("a"), assistant("b"), user("c")]
    record = record_of(messages)
    body = body_digest(record.position, record.carried, text)
    with pytest.raises(NotApplicable, match="damaged"):
        swap.apply(record.model_copy(update={"text": text, "body": body}), reading(messages))


def header(buffer: Buffer, count: int, version: int, **more: Any) -> RecordHeader:
    """A header of a record at a count of the buffer's chain."""
    return RecordHeader(version=version, generation=0, position=buffer.chain.at(count), body="0" * 32, **more)


def test_the_usable_record_farthest_along_comes_first() -> None:
    """Of those that apply, are not withdrawn and lie beyond the base; of one position the newer version."""
    buffer = reading([user(str(n)) for n in range(6)])
    base, far = header(buffer, 0, 1), header(buffer, 5, 3)
    near, twin = header(buffer, 2, 4), header(buffer, 2, 5)
    withdrawn = header(buffer, 6, 6, withdrawn=True)
    stale = RecordHeader(version=7, generation=0, position=Position(4, bytes(16)), body="0" * 32)
    ahead = RecordHeader(version=8, generation=0, position=Position(9, bytes(16)), body="0" * 32)
    found = swap.usable([base, near, far, twin, withdrawn, stale, ahead], buffer)
    assert [h.version for h in found] == [3, 5, 4]
