"""Text that tempts rules into quadratic work, in sizes that are a factor of ten apart."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from bench.extractive.cost import least
from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.summary.extractive import extract
from ebbtide_core.summary.source import SourceMessage

SIZES: Final = (4_000, 40_000)
"""Characters of one text: up to the larger one, all of a text is read."""

_REPEATED: Final = 10
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGH"


def _drawn(alphabet: str) -> str:
    return "".join(Random(7).choices(alphabet, k=SIZES[-1]))


NOISE: Final = {
    "one word": _drawn(_LETTERS),
    "digits": _drawn("0123456789"),
    "numbers": _drawn("0123456789  "),
    "slashes": _drawn(_LETTERS + "////////"),
    "dots": _drawn(_LETTERS + "........"),
    "underscores": _drawn(_LETTERS + "____----  "),
    "quotes": _drawn(_LETTERS + "\"\"\"'''``` "),
    "brackets": _drawn(_LETTERS + "[[[]]]((()))<>{}"),
    "ends": _drawn("ab.!? \n"),
    "addresses": "https://a.b/c:d@" * (SIZES[-1] // 16),
    "openings": "<<EOF <system-reminder> ``` token= " * (SIZES[-1] // 35),
    "errors": "error failed no exit timed Error " * (SIZES[-1] // 33),
}


def everywhere(text: str) -> list[SourceMessage]:
    """Return messages that hold a text wherever text is read: request, speech, call and result."""
    arguments = {"command": text, "path": text, "content": text}
    return [
        SourceMessage(0, "user", [Block(BlockKind.TEXT, text)]),
        SourceMessage(1, "assistant", [Block(BlockKind.TEXT, text)]),
        SourceMessage(2, "assistant", [Block(BlockKind.CALL, text, "bash", "t", arguments)]),
        SourceMessage(3, "user", [Block(BlockKind.RESULT, text, call_id="t", is_error=True)]),
    ]


def growth(rounds: int) -> dict[str, tuple[float, float]]:
    """Return for each noise the CPU seconds a character, at the smaller and at the larger size."""
    return {name: _growth(text, rounds) for name, text in NOISE.items()}


def _growth(text: str, rounds: int) -> tuple[float, float]:
    few, many = (everywhere(text[:size]) for size in SIZES)
    best = least({"few": lambda: _again(few), "many": lambda: extract(many)}, rounds)
    return best["few"] / _REPEATED / SIZES[0], best["many"] / SIZES[1]


def _again(source: Sequence[SourceMessage]) -> None:
    for _ in range(_REPEATED):
        extract(source)
