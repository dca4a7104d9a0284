"""Splitting a text that is too long for one call, at the best borders there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ebbtide_core.summary.text import border

_BORDERS: Final = ("\n\n", "\n", " ")
_MAX_REACH: Final = 2_000


def split(text: str, limit: int, count: Callable[[str], int]) -> list[str]:
    """Return consecutive pieces that make up the text, each of at most `limit` tokens by `count`.

    Cut is at a paragraph, else a line, else a word, else between graphemes; a single character is never cut.
    """
    size = count(text)
    if size <= limit or len(text) < 2:
        return [text]
    parts = max(2, -(-size // limit))
    pieces: list[str] = []
    start = 0
    for part in range(1, parts):
        stop = _cut(text, len(text) * part // parts, len(text) // (2 * parts))
        if start < stop < len(text):
            pieces += split(text[start:stop], limit, count)
            start = stop
    if start == 0:
        start = len(text) // 2
        pieces += split(text[:start], limit, count)
    return pieces + split(text[start:], limit, count)


def _cut(text: str, at: int, reach: int) -> int:
    """Return the best border at or before an index, at most `reach` characters before it."""
    first = max(0, at - min(reach, _MAX_REACH))
    for mark in _BORDERS:
        found = text.rfind(mark, first, at)
        if found > first:
            return found + len(mark)
    return border(text, at)
