"""What OpenAI's Responses API rejects in a list of items.

An answer is a run of the assistant's items; outputs may come in any order, and behind other items.

| rule                     | broken when                                                                     |
| ------------------------ | ------------------------------------------------------------------------------- |
| unknown-role             | a message's role is none of user, assistant, system, developer                  |
| empty-content            | a message has no content; an empty string is one                                |
| call-without-result      | a call has no output, and the user or another answer follows                    |
| result-without-call      | an output answers no call before it                                             |
| duplicate-call           | a call has the id of one that still waits                                       |
| duplicate-result         | a call has a second output                                                      |
| reasoning-without-item   | no item of its answer follows a reasoning item                                  |
| approval-without-request | an approval answers no request before it                                        |
| trigger-not-last         | items follow one that asks for compaction                                       |

A compaction item may stand anywhere and more than once: the latest counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ebbtide_core.dialects.base import PlainMessage, Violation
from ebbtide_core.dialects.openai_items import (
    MESSAGE,
    REASONING,
    begins,
    call_id,
    ends,
    is_call,
    is_output,
    kind_of,
    role_of,
)
from ebbtide_core.dialects.parts import SYSTEM_ROLES, string

_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
_SHOWN: Final = 80


def violations(items: Sequence[PlainMessage]) -> list[Violation]:
    """Return every rule of the table that the items break, in the order of their index."""
    pairing = _Pairing()
    for index, item in enumerate(items):
        pairing.take(index, item)
    found = [*pairing.broken(), *_messages(items), *_reasoning(items), *_native(items)]
    return sorted(found, key=lambda broken: broken.index)


class _Pairing:
    """The walk over the items: which calls wait, which were answered, which were left behind."""

    def __init__(self) -> None:
        self._found: list[Violation] = []
        self._waiting: dict[str, int] = {}
        self._answered: set[str] = set()
        self._left: set[str] = set()
        self._answers_came = False

    def take(self, index: int, item: PlainMessage) -> None:
        role = role_of(item)
        if is_output(item):
            self._answers_came = True
            self._output(index, call_id(item) or "")
        elif role == "user" or (role == "assistant" and self._answers_came):
            self._left.update(self._waiting)
            self._answers_came = False
        if is_call(item):
            self._call(index, call_id(item) or "")

    def _output(self, index: int, name: str) -> None:
        if self._waiting.pop(name, None) is not None:
            self._answered.add(name)
            self._left.discard(name)
        elif name in self._answered:
            self._break("duplicate-result", index, f"{name[:_SHOWN]!r} was answered already")
        else:
            self._break("result-without-call", index, f"no call {name[:_SHOWN]!r} stands before")

    def _call(self, index: int, name: str) -> None:
        if name in self._left:
            self._unanswered(name)
        elif name in self._waiting:
            self._break("duplicate-call", index, f"a call {name[:_SHOWN]!r} waits already")
        self._answered.discard(name)
        self._left.discard(name)
        self._waiting[name] = index

    def _break(self, rule: str, index: int, detail: str) -> None:
        self._found.append(Violation(rule, index, detail))

    def broken(self) -> list[Violation]:
        """Return what was found, the calls that were left behind for good among it."""
        for name in self._left:
            self._unanswered(name)
        return self._found

    def _unanswered(self, name: str) -> None:
        self._break("call-without-result", self._waiting[name], f"{name[:_SHOWN]!r} has no output")


def _messages(items: Sequence[PlainMessage]) -> Iterator[Violation]:
    for index, item in enumerate(items):
        if kind_of(item) != MESSAGE:
            continue
        role = string(item, "role")
        if role not in _ROLES:
            yield Violation("unknown-role", index, f"role {role[:_SHOWN]!r} is none of the API's")
        if item.get("content") is None or item["content"] == []:
            yield Violation("empty-content", index, "the message has no content")


def _reasoning(items: Sequence[PlainMessage]) -> Iterator[Violation]:
    follows = ""
    for index in reversed(range(len(items))):
        if kind_of(items[index]) == REASONING and follows != "assistant":
            yield Violation("reasoning-without-item", index, "no item of the same answer follows")
        role = role_of(items[index])
        follows = follows if role in SYSTEM_ROLES else role


def _native(items: Sequence[PlainMessage]) -> Iterator[Violation]:
    asked: set[str] = set()
    for index, item in enumerate(items):
        kind = kind_of(item)
        if kind == "mcp_approval_request":
            asked.add(begins(item))
        if kind == "mcp_approval_response" and ends(item) not in asked:
            yield Violation("approval-without-request", index, "no request of that id stands before")
        if kind == "compaction_trigger" and index < len(items) - 1:
            yield Violation("trigger-not-last", index, "items follow the compaction trigger")
