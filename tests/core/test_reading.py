"""Reading a buffer: what each message is, what the chain passes over, how marks are set."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.contract.record import Carried, body_digest
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.errors import InputError
from ebbtide_core.lineage.buffer import Buffer, Kind, empty, position_after, read
from ebbtide_core.lineage.canonical import canonical, message_digest
from ebbtide_core.lineage.chain import Chain, Position, Relation, origin
from ebbtide_core.lineage.grown import Grown
from ebbtide_core.lineage.marks import mark, read_marks, unmarked
from ebbtide_core.summary.message import render, wrap
from ebbtide_core.summary.model import Summary
from tests.core.say import (
    ANTHROPIC,
    OPENAI,
    RESPONSES,
    answers,
    asks,
    assistant,
    image,
    marked,
    reading,
    system,
    text,
    user,
)
from tests.reads import asked
from tests.strategies.messages import FORMATS, Format, buffers, exchange

__all__ = ["asked"]

AT = Position(7, b"\xab" * 16)
SYSTEM, EPHEMERAL, SUMMARY, CARRIED, SPOKEN = Kind
NOTES = render(Summary(session_intent="Port the build."))


def summary(*carried: Carried, position: Position = AT, body: str = "") -> dict[str, Any]:
    """A summary message as a swap would put it."""
    body = body or body_digest(position, carried, NOTES)
    return user(wrap(NOTES, version=3, position=position, carried=carried, body=body))


def carried(message: dict[str, Any], index: int, dialect: Dialect = ANTHROPIC) -> Carried:
    """A message as a record lists it."""
    return Carried(index=index, digest=message_digest(canonical(message, dialect)))


def kinds(messages: list[Any], dialect: Dialect = ANTHROPIC) -> list[Kind]:
    """What each message is."""
    return [entry.kind for entry in reading(messages, dialect).entries]


PINNED = marked(user("keep this"), pinned=True)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("a"), assistant("b")], [SPOKEN, SPOKEN]),
        ([system("s"), user("a"), system("d", "developer")], [SYSTEM, SPOKEN, SYSTEM]),
        ([marked(user("a"), ephemeral=True), user("b")], [EPHEMERAL, SPOKEN]),
        ([marked(system("s"), ephemeral=True), user("b")], [SYSTEM, SPOKEN]),
        ([summary(), user("b")], [SUMMARY, SPOKEN]),
        ([system("s"), marked(user("e"), ephemeral=True), summary()], [SYSTEM, EPHEMERAL, SUMMARY]),
        ([user("a"), summary()], [SPOKEN, SPOKEN]),
        ([summary(), summary()], [SUMMARY, SPOKEN]),
        ([summary(body="0" * 32), user("b")], [SPOKEN, SPOKEN]),
        ([{**summary(), "role": "assistant"}, user("b")], [SPOKEN, SPOKEN]),
        ([marked(summary(), ephemeral=True), user("b")], [EPHEMERAL, SPOKEN]),
        ([user(text(summary()["content"]), text("and more"))], [SPOKEN]),
        ([user(summary()["content"] + " ")], [SPOKEN]),
        ([summary(carried(PINNED, 2)), PINNED, user("b")], [SUMMARY, CARRIED, SPOKEN]),
        ([summary(carried(PINNED, 2)), user("b"), PINNED], [SUMMARY, SPOKEN, SPOKEN]),
        ([summary(carried(PINNED, 2)), system("s"), PINNED], [SUMMARY, SYSTEM, CARRIED]),
        (
            [summary(carried(PINNED, 2)), marked(user("e"), ephemeral=True), PINNED],
            [SUMMARY, EPHEMERAL, CARRIED],
        ),
        ([summary(carried(PINNED, 2)), PINNED, PINNED], [SUMMARY, CARRIED, SPOKEN]),
        ([summary(carried(PINNED, 2), carried(PINNED, 4)), PINNED, PINNED], [SUMMARY, CARRIED, CARRIED]),
        ([summary(carried(user("gone"), 1), carried(PINNED, 2)), PINNED], [SUMMARY, CARRIED]),
        ([PINNED, user("b")], [SPOKEN, SPOKEN]),
    ],
)
def test_each_message_is_what_its_place_and_marks_say(messages: list[Any], expected: list[Kind]) -> None:
    """A summary counts only as first message, whole and undamaged; carried ones only right behind it."""
    assert kinds(messages) == expected


@pytest.mark.parametrize("dialect", [ANTHROPIC, OPENAI, RESPONSES])
def test_a_summary_message_is_known_again_after_the_host_marked_it_for_the_cache(dialect: Dialect) -> None:
    """A string that became a text block with a cache mark says the same."""
    words = summary()["content"]
    cached = user({**text(words), "cache_control": {"type": "ephemeral"}})
    found = reading([cached, user("b")], dialect)
    assert found.chain.base == AT
    assert found.summary is not None
    assert (found.summary.version, found.summary.text) == (3, NOTES)


def test_a_summary_sets_the_chain_whether_or_not_anything_else_is_known() -> None:
    """Its position is the base, and what follows is counted from there."""
    found = reading([system("s"), summary(carried(PINNED, 2)), PINNED, user("b"), assistant("c")])
    assert found.chain.base == AT
    assert [(e.kind, e.index, e.count) for e in found.entries] == [
        (SYSTEM, -1, 0),
        (SUMMARY, -1, 7),
        (CARRIED, 2, 7),
        (SPOKEN, 7, 8),
        (SPOKEN, 8, 9),
    ]
    assert position_after(found, 5) == found.chain.tip
    assert position_after(found, 2) == position_after(found, 3) == AT


def test_a_request_is_what_the_user_says() -> None:
    """Its length in characters; results, internal messages, images and other speakers have none."""
    messages = [
        user("four"),
        user(text("ab"), image(9), text("c")),
        marked(user("hidden"), internal=True),
        assistant("said"),
        user({"type": "tool_result", "tool_use_id": "t", "content": "long result"}),
        user({"type": "tool_result", "tool_use_id": "t", "content": "x"}, text("stop")),
        summary(),
    ]
    sizes = [entry.request for entry in reading(messages).entries]
    assert sizes == [4, 3, 0, 0, 0, 4, len(summary()["content"])]
    assert [e.request for e in reading([asks("a"), answers("a", "result")], OPENAI).entries] == [0, 0]


def test_only_new_messages_are_read(asked: list[int]) -> None:
    """The same messages at the same places are known, be they the same objects or equal ones."""
    messages = [user("a"), assistant("b"), user("c")]
    known = read(messages[:2], ANTHROPIC)
    assert read(messages, ANTHROPIC, known).chain == reading(messages).chain
    assert asked == [0, 1, 2, 0, 1, 2]
    asked.clear()
    assert read(messages[:2], ANTHROPIC, known) == known
    copies = copy.deepcopy(messages)
    found = read(copies, ANTHROPIC, known)
    assert asked == [2]
    assert all(kept is given for kept, given in zip(found.messages, copies, strict=True))


def test_from_the_first_message_that_differs_all_is_read_anew(asked: list[int]) -> None:
    """What stands before it is known; without a spoken message before it, and in another format, nothing
    is.
    """
    messages = [user("a"), assistant("b"), user("c")]
    known = read(messages[:2], ANTHROPIC)
    cases: list[tuple[list[Any], Dialect, list[int]]] = [
        ([user("a"), assistant("B"), user("c")], ANTHROPIC, [1, 2]),
        (messages[:1], ANTHROPIC, []),
        ([user("A"), *messages[1:]], ANTHROPIC, [0, 1, 2]),
        (messages, OPENAI, [0, 1, 2]),
        ([user("a"), _Odd(assistant("b"))], ANTHROPIC, [1]),
    ]
    for others, dialect, expected in cases:
        asked.clear()
        found = read(others, dialect, known)
        assert asked == expected
        assert found == read(others, dialect)


def test_a_cache_mark_that_moves_costs_the_messages_it_moves_between(asked: list[int]) -> None:
    """A host that marks the newest message for the cache passes the one before without its mark."""

    def marked_last(messages: list[Any]) -> list[Any]:
        cached = {**text("last"), "cache_control": {"type": "ephemeral"}}
        return [*messages[:-1], user(cached)]

    messages = [user("a"), assistant("b"), user(text("last"))]
    known = read(marked_last(messages), ANTHROPIC)
    grown = [*messages, assistant("d"), user(text("last"))]
    asked.clear()
    found = read(marked_last(grown), ANTHROPIC, known)
    assert asked == [2, 3, 4]
    assert found.chain == read(grown, ANTHROPIC).chain


class _Odd(dict[str, Any]):
    """A message of a foreign type whose comparison fails."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise ValueError("compare element by element")


def test_the_first_earlier_buffer_that_fits_is_gone_on_with(asked: list[int]) -> None:
    """Hosts keep the raw history, or the buffer after a swap."""
    raw, kept = [user("a"), assistant("b")], [summary(), assistant("b")]
    earlier = (read(raw, ANTHROPIC), read(kept, ANTHROPIC))
    for messages in (raw, kept):
        asked.clear()
        grown = [*messages, user("c")]
        assert read(grown, ANTHROPIC, *earlier) == read(grown, ANTHROPIC)
        assert asked[0] == 2


@pytest.mark.parametrize("fmt", FORMATS)
@given(data=st.data())
def test_an_edited_buffer_is_read_as_if_never_read_before(fmt: Format, data: st.DataObject) -> None:
    """Whichever message changed or went, with a summary in front or not, and when it goes on from there."""
    dialect = by_name(fmt)
    messages = data.draw(buffers(fmt, min_exchanges=1, malformed=data.draw(st.booleans())))
    if data.draw(st.booleans()):
        messages = [summary(carried(PINNED, 2, dialect)), PINNED, *messages]
    known = read(messages, dialect)
    at = data.draw(st.integers(0, len(messages) - 1))
    instead = data.draw(st.sampled_from([[], [user("edited")], [marked(user("edited"), ephemeral=True)]]))
    edited = [*messages[:at], *instead, *messages[at + 1 :]]
    found = read(edited, dialect, known)
    assert found == read(edited, dialect)
    grown = [*edited, *data.draw(exchange(fmt))]
    assert read(grown, dialect, found, known) == read(grown, dialect)


@pytest.mark.parametrize("fmt", FORMATS)
@given(data=st.data())
def test_reading_on_gives_what_reading_at_once_gives(fmt: Format, data: st.DataObject) -> None:
    """Whatever stands in the buffer, wherever it was read before, also after another end was read from
    there."""
    messages = data.draw(buffers(fmt, malformed=data.draw(st.booleans())))
    cut = data.draw(st.integers(0, len(messages)))
    dialect = by_name(fmt)
    known = read(messages[:cut], dialect)
    elsewhere = read([*messages[:cut], user("another end")], dialect, known)
    found = read(messages, dialect, known)
    assert found == read(messages, dialect)
    assert found.continues(known)
    assert len(messages) == cut or not found.continues(elsewhere)


def test_the_empty_buffer_stands_at_the_origin() -> None:
    """Each format has its own."""
    assert empty(ANTHROPIC) == read([], ANTHROPIC)
    assert empty(ANTHROPIC).chain.tip == origin("anthropic") != origin("openai")
    assert Buffer(ANTHROPIC, Grown(), Chain(origin("anthropic"))).view == []


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (6, Relation.BEFORE),
        (7, Relation.ON),
        (8, Relation.ON),
        (9, Relation.AHEAD),
    ],
)
def test_a_position_stands_to_a_chain_by_count_and_digest(position: int, expected: Relation) -> None:
    """Inside the chain another digest contradicts."""
    chain = Chain(AT).extend([b"one"])
    digest = chain.at(position).digest if expected is Relation.ON else bytes(16)
    assert chain.relation(Position(position, digest)) is expected
    if expected is Relation.ON:
        assert chain.relation(Position(position, bytes(16))) is Relation.CONTRADICTS


def test_a_chain_knows_its_own_positions_only() -> None:
    """Asking before the base or behind the tip is an error."""
    chain = Chain(AT).extend([b"one", b"two"])
    assert chain.at(9) == chain.tip
    assert chain == Chain(AT).extend([b"one"]).extend([b"two"])
    for count in (6, 10):
        with pytest.raises(IndexError, match=r"outside 7\.\.9"):
            chain.at(count)


@pytest.mark.parametrize(
    "wrong",
    [
        f"+1:{'0' * 32}",
        f"1:{'0' * 32} ",
        f"1: {'0' * 32}",
        f"\u0661:{'0' * 32}",
        f"1:{'A' * 32}",
        f"01:{'0' * 32}",
        f"{'9' * 5000}:{'0' * 32}",
    ],
)
def test_a_position_has_one_spelling(wrong: str) -> None:
    """What looks like a position but isn't spelled as one is none."""
    with pytest.raises(ValueError, match="not a position"):
        Position.parse(wrong)


def test_marks_are_set_on_a_copy() -> None:
    """The message stays; None leaves a mark as it was, False removes it, the last takes the key along."""
    message = user("a")
    pinned = mark(message, pinned=True)
    both = mark(pinned, internal=True, ephemeral=None)
    assert message == user("a")
    assert pinned == {**message, "ebbtide": {"pinned": True}}
    assert read_marks(both) == read_marks({"ebbtide": {"pinned": True, "internal": True}})
    assert mark(both, pinned=False) == {**message, "ebbtide": {"internal": True}}
    assert mark(pinned, pinned=False) == message
    assert mark(message, pinned=False) == message
    assert unmarked(both) == message
    assert unmarked(message) is message


def test_unknown_marks_are_let_through() -> None:
    """A newer host's mark is no error, and is not sent."""
    found = reading([{**user("a"), "ebbtide": {"pinned": True, "later": True}}])
    assert found.entries[0].marks.pinned
    assert found.view == [user("a")]


def test_marks_that_are_none_are_refused() -> None:
    """So that a host's own key of the same name does not go unnoticed."""
    for wrong in ("x", 1, ["pinned"], {"pinned": "yes"}):
        with pytest.raises(InputError, match=r"ebbtide\.mark"):
            read_marks({"role": "user", "ebbtide": wrong})
