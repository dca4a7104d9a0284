"""Bad input loses nothing: it is refused by name, or accepted and listed, and the next turn works."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ebbtide_core.errors import InputError, LimitError
from ebbtide_core.lineage import buffer as buffers
from ebbtide_core.lineage.buffer import Kind, read
from ebbtide_core.lineage.issues import IssueKind
from ebbtide_core.policy import MAX_BUFFER_MESSAGES, MAX_MESSAGE_BYTES
from tests.core.say import ANTHROPIC, OPENAI, answers, asks, assistant, call, marked, result, text, user

GOOD = [user("go"), assistant(text("on it"), call("t1")), user(result("t1"))]
NOT_JSON = object()


def _nested(levels: int) -> Any:
    return [_nested(levels - 1)] if levels else "x"


@pytest.mark.parametrize(
    ("wrong", "path", "problem"),
    [
        ("hello", "", "a message is an object, not str"),
        (None, "", "a message is an object, not NoneType"),
        (["role", "user"], "", "a message is an object, not list"),
        (7, "", "a message is an object, not int"),
        ({}, "role", "a message has a role"),
        ({"content": "x"}, "role", "a message has a role"),
        ({"role": "", "content": "x"}, "role", "a message has a role"),
        ({"role": None, "content": "x"}, "role", "a message has a role"),
        ({"role": 3, "content": "x"}, "role", "a message has a role"),
        (NOT_JSON, "", "object is not JSON"),
        (user(text("a"), {"type": "x", "when": NOT_JSON}), "content[1].when", "object is not JSON"),
        (user({"type": "text", "text": float("inf")}), "content[0].text", "not a JSON number"),
        ({"role": "user", 5: "x"}, "", "key 5 is not a string"),
        (user({"type": "x", "deep": _nested(300)}), None, "nested deeper"),
        ({"role": "user", "content": 10**9999}, "content", "integer"),
        ({"role": "user", "content": "x", "ebbtide": "pinned"}, "ebbtide", "marks are set with"),
        ({"role": "user", "content": "x", "ebbtide": {"pinned": 1}}, "ebbtide", "marks are set with"),
    ],
)
def test_what_is_no_message_is_refused_by_index_and_path(wrong: Any, path: str | None, problem: str) -> None:
    """The messages stay as they were, and the next read works with or without what was read before."""
    known = read(GOOD[:2], ANTHROPIC)
    kept = copy.deepcopy(GOOD)
    with pytest.raises(InputError, match=problem) as raised:
        read([*GOOD[:2], wrong, GOOD[2]], ANTHROPIC, known)
    assert type(raised.value) is InputError
    assert raised.value.index == 2
    assert path is None or raised.value.path == path
    assert str(raised.value).startswith("message 2")
    assert kept == GOOD
    assert read(GOOD, ANTHROPIC, known) == read(GOOD, ANTHROPIC)


@pytest.mark.parametrize("wrong", [None, "messages", {"role": "user"}, iter(GOOD), 3])
def test_what_is_no_list_is_refused(wrong: Any) -> None:
    """A generator too: it could be read only once."""
    with pytest.raises(InputError, match="messages must be a list") as raised:
        read(wrong, ANTHROPIC)
    assert (raised.value.index, raised.value.path) == (None, "messages")


def test_a_message_over_the_size_limit_is_a_limit_error() -> None:
    """Its canonical form counts, in bytes; the others are read as before."""
    large = user("\u6771" * (MAX_MESSAGE_BYTES // 3))
    with pytest.raises(LimitError, match="bytes, at most") as raised:
        read([*GOOD, large], ANTHROPIC)
    assert raised.value.index == 3
    assert len(read(GOOD, ANTHROPIC).entries) == 3


def test_a_list_over_the_length_limit_is_a_limit_error() -> None:
    """It is refused before any message is looked at."""
    with pytest.raises(LimitError, match="100001 messages, at most 100000") as raised:
        read([NOT_JSON] * (MAX_BUFFER_MESSAGES + 1), ANTHROPIC)  # type: ignore[list-item]
    assert raised.value.path == "messages"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user({"type": "hologram", "x": 1})], [(IssueKind.UNKNOWN_BLOCK, 0)]),
        ([user("go"), user(result("t9"))], [(IssueKind.RESULT_WITHOUT_CALL, 1)]),
        ([assistant(call("t1")), user("never mind")], [(IssueKind.CALL_WITHOUT_RESULT, 0)]),
        (
            [assistant(call("a"), call("b")), user(result("a"), text("stop"))],
            [(IssueKind.CALL_WITHOUT_RESULT, 0)],
        ),
        ([user("half \ud83d")], [(IssueKind.LONE_SURROGATE, 0)]),
        ([user({"type": "text", "te\udc00xt": "x"})], [(IssueKind.LONE_SURROGATE, 0)]),
        ([user("fine"), assistant(call("t1")), user(result("t1")), assistant(call("t2"))], []),
        (
            [assistant(call("t1")), user(result("t1")), user(result("t1"))],
            [(IssueKind.DUPLICATE_RESULT, 2)],
        ),
        ([assistant(call("t1")), user(result("t1")), assistant(call("t1")), user(result("t1"))], []),
        ([user(result("t9")), user(result("t9"))], [(IssueKind.RESULT_WITHOUT_CALL, n) for n in (0, 1)]),
    ],
)
def test_oddities_of_messages_are_accepted_and_listed(
    messages: list[Any], expected: list[tuple[IssueKind, int]]
) -> None:
    """Each by its kind and the index of its message; a call that still waits is none."""
    kept = copy.deepcopy(messages)
    found = read(messages, ANTHROPIC)
    assert [(issue.kind, issue.index) for issue in found.issues] == expected
    assert messages == kept
    assert found.messages == messages


def test_oddities_of_chat_messages_are_accepted_and_listed() -> None:
    """The same in the other format."""
    messages = [answers("x"), asks("a", "b"), answers("b"), {"role": "user", "content": [{"type": "odd"}]}]
    found = {(issue.kind, issue.index) for issue in read(messages, OPENAI).issues}
    assert found == {
        (IssueKind.RESULT_WITHOUT_CALL, 0),
        (IssueKind.CALL_WITHOUT_RESULT, 1),
        (IssueKind.UNKNOWN_BLOCK, 3),
    }


def test_lone_surrogates_go_from_view_and_digest_only() -> None:
    """The buffer keeps them; view and lineage are those of the repaired text."""
    broken, whole = user("a\ud83d b"), user("a\ufffd b")
    found = read([broken], ANTHROPIC)
    assert found.messages[0] is broken
    assert found.view == [whole]
    assert found.chain == read([whole], ANTHROPIC).chain


def test_a_marked_message_with_a_lone_surrogate_is_sent_without_both() -> None:
    """Repair and unmarking don't get in each other's way."""
    found = read([marked(user("a\ud83d"), pinned=True)], ANTHROPIC)
    assert found.view == [user("a\ufffd")]


@pytest.mark.parametrize("empty", [None, {}])
def test_an_empty_mark_is_not_sent_either(empty: Any) -> None:
    """The provider knows no such key, whatever it holds."""
    found = read([{"role": "user", "content": "hi", "ebbtide": empty}], ANTHROPIC)
    assert found.view == [user("hi")]
    assert found.entries[0].kind is Kind.SPOKEN


class SdkMessage:
    """A message object of an SDK, with a dump and nothing else."""

    def __init__(self, words: str) -> None:
        self.words = words

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"role": "assistant", "content": self.words, "ebbtide": {"internal": True}}


def test_sdk_objects_may_stand_for_messages() -> None:
    """They are kept as they are, and sent as plain JSON where something must be left out or repaired."""
    whole, broken = SdkMessage("fine"), SdkMessage("half \ud83d")
    messages: list[Any] = [user("go"), whole, broken]
    found = read(messages, ANTHROPIC)
    assert found.messages[1:] == messages[1:]
    assert found.view == [user("go"), assistant("fine"), assistant("half \ufffd")]


def test_any_role_that_is_a_string_is_accepted() -> None:
    """Whether the provider knows it is the dialect's to report."""
    found = read([{"role": "narrator", "content": None}], OPENAI)
    assert found.entries[0].kind is Kind.SPOKEN


def test_checked_gives_plain_dicts() -> None:
    """A mapping that is no dict is read as one."""

    class Frozen(dict[str, Any]):
        """A dict of a host's own."""

    assert type(buffers.checked(Frozen(role="user"), 0, OPENAI)) is dict
