"""What Anthropic's Messages API rejects in a list of messages.

Messages of one role in a row are one turn to the API. System messages stand beside the turns: they neither
begin nor end one, and only their role is looked at.

| rule                 | broken when                                                                 |
| -------------------- | --------------------------------------------------------------------------- |
| unknown-role         | a role is none of user, assistant, system                                   |
| first-not-user       | the first turn is not the user's and does not begin with a compaction block |
| duplicate-call       | one turn holds two tool_use blocks with one id                              |
| call-without-result  | a turn follows and does not answer a tool_use                               |
| result-without-call  | a tool_result answers no tool_use of the turn before                        |
| duplicate-result     | one turn holds two tool_result blocks for one id                            |
| result-after-content | a tool_result stands behind other content of its turn                       |
| result-without-use   | a result of the provider's has no use of its own tool before it             |
| empty-text           | a text block holds nothing but white space (a last assistant message may)   |
| empty-content        | a message has no blocks (a last assistant message may)                      |
| compaction-not-first | a compaction block is not the very first block                              |
| compaction-twice     | there is a second compaction block                                          |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from ebbtide_core.dialects.anthropic_native import uses
from ebbtide_core.dialects.base import PlainMessage, Violation
from ebbtide_core.dialects.parts import SYSTEM_ROLES, blocks_of, string, type_of

_ROLES: Final = frozenset({"user", "assistant", "system"})
_SHOWN: Final = 80


@dataclass(slots=True)
class _Turn:
    """A run of messages of one role: its blocks with the index of their message, and those by id."""

    role: str
    blocks: list[tuple[int, PlainMessage]] = field(default_factory=list)

    def ids(self, kind: str, key: str) -> list[tuple[int, str]]:
        return [(index, string(block, key)) for index, block in self.blocks if type_of(block) == kind]

    @property
    def calls(self) -> list[tuple[int, str]]:
        return self.ids("tool_use", "id")

    @property
    def results(self) -> list[tuple[int, str]]:
        return self.ids("tool_result", "tool_use_id")


def violations(messages: Sequence[PlainMessage]) -> list[Violation]:
    """Return every rule of the table that the messages break, in the order of their index."""
    spoken = [
        (index, message) for index, message in enumerate(messages) if message["role"] not in SYSTEM_ROLES
    ]
    turns = _turns(spoken)
    found = [
        *_roles(messages),
        *_first(spoken, turns),
        *_empty(spoken),
        *_compactions(turns),
        *_provider_results(turns),
        *(broken for before, turn in pairwise([_Turn(""), *turns]) for broken in _pairing(before, turn)),
    ]
    return sorted(found, key=lambda broken: broken.index)


def _turns(spoken: Sequence[tuple[int, PlainMessage]]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in spoken:
        if not turns or turns[-1].role != message["role"]:
            turns.append(_Turn(message["role"]))
        turns[-1].blocks.extend((index, block) for block in blocks_of(message.get("content")))
    return turns


def _roles(messages: Sequence[PlainMessage]) -> Iterator[Violation]:
    for index, message in enumerate(messages):
        if message["role"] not in _ROLES:
            yield Violation("unknown-role", index, f"role {message['role'][:_SHOWN]!r} is none of the API's")


def _first(spoken: Sequence[tuple[int, PlainMessage]], turns: Sequence[_Turn]) -> Iterator[Violation]:
    if turns and turns[0].role != "user" and not _is_compaction(turns[0].blocks[:1]):
        yield Violation("first-not-user", spoken[0][0], "the first turn is not the user's")


def _is_compaction(blocks: Sequence[tuple[int, PlainMessage]]) -> bool:
    return any(type_of(block) == "compaction" for _, block in blocks)


def _empty(spoken: Sequence[tuple[int, PlainMessage]]) -> Iterator[Violation]:
    checked = spoken[:-1] if spoken and spoken[-1][1]["role"] == "assistant" else spoken
    for index, message in checked:
        blocks = blocks_of(message.get("content"))
        if not blocks:
            yield Violation("empty-content", index, "the message has no content")
        for block in blocks:
            if type_of(block) == "text" and not string(block, "text").strip():
                yield Violation("empty-text", index, "a text block holds no text")


def _compactions(turns: Sequence[_Turn]) -> Iterator[Violation]:
    places = [(index, block) for turn in turns for index, block in turn.blocks]
    seen = 0
    for place, (index, block) in enumerate(places):
        if type_of(block) != "compaction":
            continue
        if place:
            yield Violation(
                "compaction-not-first", index, "a compaction block must be the first block of all"
            )
        if seen:
            yield Violation("compaction-twice", index, "only one compaction block may be sent")
        seen += 1


def _provider_results(turns: Sequence[_Turn]) -> Iterator[Violation]:
    used: set[str] = set()
    for index, block in (place for turn in turns for place in turn.blocks):
        begun, ended = uses(block)
        used.update(begun)
        if ended and used.isdisjoint(ended):
            yield Violation("result-without-use", index, f"no use {ended[0][:_SHOWN]!r} stands before")


def _pairing(before: _Turn, turn: _Turn) -> Iterator[Violation]:
    asked, answered = {name for _, name in before.calls}, {name for _, name in turn.results}
    for index, name in before.calls:
        if name not in answered:
            yield Violation(
                "call-without-result", index, f"the next turn holds no result for {name[:_SHOWN]!r}"
            )
    for index, name in turn.results:
        if name not in asked:
            yield Violation("result-without-call", index, f"the turn before holds no call {name[:_SHOWN]!r}")
    yield from _twice(turn.calls, "duplicate-call")
    yield from _twice(turn.results, "duplicate-result")
    yield from _late(turn)


def _twice(ids: Sequence[tuple[int, str]], rule: str) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, name in ids:
        if name in seen:
            yield Violation(rule, index, f"{name[:_SHOWN]!r} occurs twice in one turn")
        seen.add(name)


def _late(turn: _Turn) -> Iterator[Violation]:
    other = False
    for index, block in turn.blocks:
        if type_of(block) != "tool_result":
            other = True
        elif other:
            yield Violation("result-after-content", index, "results come before other content of their turn")
