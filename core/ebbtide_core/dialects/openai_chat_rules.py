"""What OpenAI's Chat Completions API rejects in a list of messages.

| rule                | broken when                                                                 |
| ------------------- | --------------------------------------------------------------------------- |
| unknown-role        | a role is none of system, developer, user, assistant, tool, function        |
| call-without-result | messages follow, and the results right behind the call hold none of its own |
| result-without-call | a result answers no call of the assistant messages right before it          |
| duplicate-result    | a result answers a call that the results right before it answered already   |
| empty-assistant     | an assistant message has neither content nor calls                          |

A call is unanswered when another assistant message stands right behind it; a result behind that one still
counts as its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ebbtide_core.dialects.base import PlainMessage, Violation

_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_RESULT_ROLES: Final = frozenset({"tool", "function"})
_SAYS_SOMETHING: Final = ("tool_calls", "function_call", "refusal", "audio")
_SHOWN: Final = 80

Read = tuple[PlainMessage, Sequence[str], Sequence[str]]
"""A message with the ids of its calls and of what it answers."""


def violations(messages: Sequence[Read]) -> list[Violation]:
    """Return every rule of the table that the messages break, in the order of their index."""
    pairing = _Pairing()
    for index, (message, calls, results) in enumerate(messages):
        if message["role"] in _RESULT_ROLES:
            pairing.result(index, results)
        else:
            pairing.other(index, message["role"] == "assistant", calls)
    pairing.end(len(messages))
    found = [*pairing.found, *_single(messages)]
    return sorted(found, key=lambda broken: broken.index)


class _Pairing:
    """The walk over the messages: which calls may be answered, which wait, which were."""

    def __init__(self) -> None:
        self.found: list[Violation] = []
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._waiting: dict[str, int] = {}
        self._in_run = False

    def result(self, index: int, ids: Sequence[str]) -> None:
        self._in_run = False
        for name in ids or ("",):
            if name in self._answered:
                self._break("duplicate-result", index, f"{name[:_SHOWN]!r} was answered already")
            elif name not in self._asked:
                self._break("result-without-call", index, f"no call {name[:_SHOWN]!r} stands right before")
            else:
                self._answered.add(name)
            self._waiting.pop(name, None)

    def other(self, index: int, assistant: bool, calls: Sequence[str]) -> None:
        self.end(index + 1)
        if not (assistant and self._in_run):
            self._asked, self._answered = set(), set()
        self._in_run = assistant
        self._asked.update(calls)
        self._waiting = dict.fromkeys(calls, index)

    def end(self, count: int) -> None:
        """Break the rule for each waiting call, unless it stands in the last of `count` messages."""
        for name, index in self._waiting.items():
            if index < count - 1:
                self._break(
                    "call-without-result", index, f"{name[:_SHOWN]!r} is not answered before what follows"
                )

    def _break(self, rule: str, index: int, detail: str) -> None:
        self.found.append(Violation(rule, index, detail))


def _single(messages: Sequence[Read]) -> Iterator[Violation]:
    for index, (message, _, _) in enumerate(messages):
        role = message["role"]
        if role not in _ROLES:
            yield Violation("unknown-role", index, f"role {role[:_SHOWN]!r} is none of the API's")
        if role == "assistant" and not _says_something(message):
            yield Violation("empty-assistant", index, "the message has neither content nor calls")


def _says_something(message: PlainMessage) -> bool:
    content = message.get("content")
    return isinstance(content, str) or bool(content) or any(message.get(key) for key in _SAYS_SOMETHING)
