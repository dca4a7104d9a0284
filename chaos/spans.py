"""Message numbers as runs, so that a journal stays small: `[[0, 3], [7, 8]]` is 0, 1, 2, 7."""

from __future__ import annotations

from collections.abc import Iterable

Spans = list[list[int]]


def spans(numbers: Iterable[int]) -> Spans:
    """Return the numbers, in their order, as runs of first and stop; one that comes twice stays twice."""
    found: Spans = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1][1] += 1
        else:
            found.append([number, number + 1])
    return found


def numbers(runs: Spans) -> list[int]:
    """Return the numbers that runs stand for, in order."""
    return [number for first, stop in runs for number in range(first, stop)]
