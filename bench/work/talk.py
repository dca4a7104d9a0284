"""Seeded sessions of an agent: one request, then rounds of a call and its result. Messages API."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

ROUND_TOKENS: Final = 107
"""About what a round weighs in o200k beside the words of its result."""

_REQUEST: Final = (
    "Move the billing service to the new ledger, one module after the other. Never touch legacy/."
)
_TEXT: Final = """
    account amount balance batch branch build cache call change check client close code column commit
    config count create data date default delete driver entry error event field file filter fix flag
    flow form group handle header import index input invoice item job join key ledger level limit line
    link list load lock match merge method model module name node order output page parse path plan pool
    price query queue range read record region report result retry return route row rule run save schema
    scope send serial server session set sort source stage state status step store stream string sum
    table tag task team test time token total trace type unit update user value version view wait window
    worker write zone
"""
_WORDS: Final = tuple(_TEXT.split())


def conversation(name: str, rounds: int, *, result_words: int) -> list[dict[str, Any]]:
    """Return a session of 1 + 2 · `rounds` messages; the same name gives the same session."""
    chance = random.Random(name)
    told = [{"role": "user", "content": f"{name}: {_REQUEST}"}]
    for number in range(rounds):
        told += _round(chance, number, result_words)
    return told


def _round(chance: random.Random, number: int, result_words: int) -> Iterator[dict[str, Any]]:
    path = f"src/{chance.choice(_WORDS)}/{chance.choice(_WORDS)}_{number}.py"
    say = f"Step {number}: {words(chance, 20)}."
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": path}}
    yield {"role": "assistant", "content": [{"type": "text", "text": say}, call]}
    result = f"{path}\n{words(chance, result_words)}"
    answer = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
    yield {"role": "user", "content": [answer]}


def words(chance: random.Random, number: int) -> str:
    """Return so many words, about a token each."""
    return " ".join(chance.choices(_WORDS, k=number))


def notes(chance: random.Random, items: int) -> dict[str, Any]:
    """Return fields of a summary with so many decisions and two next steps, about 25 tokens each."""
    return {
        "decisions": [f"Decided: {words(chance, 22)}" for _ in range(items)],
        "next_steps": [f"Next: {words(chance, 22)}" for _ in range(2)],
    }
