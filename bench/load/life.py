"""One session of the load: a user's request, then rounds of a call and its result; every message is known by
name, so that what a buffer holds can be checked from outside.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bench.work.talk import words
from ebbtide import Turn

_NAME: Final = re.compile(r"\[m(\d+)\]")

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the sessions of a load live: `turns` each, `gap` seconds apart, results of `result_words` words."""

    window: int
    turns: int
    gap: float
    result_words: int


@dataclass
class Life:
    """One session under way: what was said in all, what the host keeps, and what was found wrong with it."""

    name: str
    plan: Plan
    said: int = 0
    buffer: list[Message] = field(default_factory=list)
    position: int = 0
    carried: frozenset[int] = frozenset()
    version: int = 0
    swaps: list[tuple[int, int]] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.name)
        self.say({"role": "user", "content": f"{self.name}: move all modules to the new ledger."})

    def say(self, message: Message) -> None:
        """Append a message to the buffer, with its name in its text."""
        self.buffer.append(_named(message, self.said))
        self.said += 1

    def answer(self, number: int) -> None:
        """Append what the model and its tool said in a turn."""
        chance, call = self._chance, f"toolu_{number}"
        path = f"src/{words(chance, 1)}/{words(chance, 1)}_{number}.py"
        text = {"type": "text", "text": f"Step {number}: {words(chance, 15)}."}
        asked = {"type": "tool_use", "id": call, "name": "read", "input": {"path": path}}
        self.say({"role": "assistant", "content": [text, asked]})
        result = f"{path}\n{words(chance, self.plan.result_words)}"
        answer = {"type": "tool_result", "tool_use_id": call, "content": result}
        self.say({"role": "user", "content": [answer]})

    def take(self, turn: Turn) -> None:
        """Keep a turn's buffer, and check it: each message once, behind the summary or carried by it."""
        self.buffer = list(turn.buffer)
        if turn.swap is not None:
            position = turn.swap.position.count
            self.swaps.append((turn.swap.version, self.said - position))
            if turn.swap.version <= self.version or position <= self.position:
                self.wrong["a version or position that does not rise"] += 1
            self.version, self.position = turn.swap.version, position
            self.carried = frozenset(_name(turn.buffer[i]) for i in turn.swap.carried)
        held = [_name(m) for m in self.buffer[1 if self.version else 0 :]]
        if held != [*sorted(self.carried), *range(self.position, self.said)]:
            self.wrong["a message lost, doubled or out of order"] += 1


def _named(message: Message, number: int) -> Message:
    mark = f"[m{number}] "
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": mark + content}
    first, *rest = content
    key = "text" if first["type"] == "text" else "content"
    return {**message, "content": [{**first, key: mark + first[key]}, *rest]}


def _name(message: Message) -> int:
    """Return a message's number, -1 for one that has none."""
    found = next((_NAME.match(text) for text in _texts(message["content"])), None)
    return int(found[1]) if found else -1


def _texts(content: str | Sequence[Message]) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    yield from (str(block.get("text") or block.get("content")) for block in content)
