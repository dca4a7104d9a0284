"""A pool's buffer as run history."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ebbtide.harness.installed import installed
from tests.harness.talk import assistant, user

SUMMARY = {"role": "user", "content": "the earlier conversation"}
ANSWER = object()


def test_items_come_back_as_the_host_keeps_them() -> None:
    """The summary stands for those whose messages are gone; the others are the very objects."""
    history = ["first", ANSWER, user(2)]
    rendered = [[user(1)], [assistant(1)], [user(2)]]
    done = installed([SUMMARY, rendered[1][0], rendered[2][0]], SUMMARY, history, rendered)
    assert done.history == [SUMMARY, ANSWER, history[2]]
    assert done.history[0] is not SUMMARY
    assert done.dropped_items == ("first",)
    assert (done.summary_content, done.summarizer_response) == ("the earlier conversation", None)


def test_equal_messages_are_told_by_their_place() -> None:
    """A buffer of equal copies, as a session may remember them, gives the same history."""
    history = ["first", "a", "a", ANSWER]
    rendered = [[user(1)], [user(2)], [user(2)], [assistant(1)]]
    copies = deepcopy([rendered[1][0], rendered[2][0], rendered[3][0]])
    done = installed([SUMMARY, *copies], SUMMARY, history, rendered)
    assert done.history == [SUMMARY, *history[1:]]
    assert done.history[3] is ANSWER


def test_of_an_item_cut_in_two_the_messages_that_stay_are_kept() -> None:
    """A prompt may render several messages, and the cut fall between them."""
    parts = [user(1), user(2), user(3)]
    done = installed([SUMMARY, *parts[1:], user(4)], SUMMARY, ["prompt", "last"], [parts, [user(4)]])
    assert done.history == [SUMMARY, user(2), user(3), "last"]
    assert done.dropped_items == ("prompt",)
    whole = installed([*parts, SUMMARY], SUMMARY, ["prompt"], [parts])
    assert whole.history == ["prompt", SUMMARY]


def test_messages_that_a_host_added_at_the_swap_are_kept() -> None:
    """They were in no item before."""
    added: dict[str, Any] = user(9)
    done = installed([SUMMARY, added], SUMMARY, ["first"], [[user(1)]])
    assert done.history == [SUMMARY, added]
