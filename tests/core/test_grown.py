"""The sequence that grows without being copied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.lineage.grown import Grown

numbers = st.lists(st.integers(0, 9), max_size=6)


@given(numbers, st.lists(st.tuples(st.integers(0, 50), numbers), max_size=8))
def test_each_sequence_keeps_what_it_had(first: list[int], steps: list[tuple[int, list[int]]]) -> None:
    """Whichever of those that were made is grown next, and however often."""
    made, expected = [Grown(first)], [tuple(first)]
    for which, more in steps:
        at = which % len(made)
        made.append(made[at].grown(more))
        expected.append((*expected[at], *more))
    assert [tuple(sequence) for sequence in made] == expected
    assert made == expected
    assert list(map(len, made)) == list(map(len, expected))


@given(numbers, numbers, st.slices(8))
def test_it_is_read_like_a_tuple(first: list[int], more: list[int], part: slice) -> None:
    """Items from both ends, parts, equality, hash; also when a longer one shares its items."""
    short, expected = Grown(first), tuple(first)
    long = short.grown(more)
    assert hash(short) == hash(expected)
    assert short[:] == expected
    assert short[part] == expected[part]
    assert [short[i] for i in range(-len(expected), len(expected))] == list(expected * 2)
    assert list(reversed(short)) == list(reversed(expected))
    assert (short == long) is (not more)
    assert short != list(expected)
    for outside in (len(expected), -len(expected) - 1):
        with pytest.raises(IndexError):
            short[outside]


def test_growing_the_longest_copies_nothing() -> None:
    """Ten thousand steps of one item each share one store of items."""
    sequence: Grown[int] = Grown()
    for number in range(10_000):
        sequence = sequence.grown([number])
    assert len(sequence._items) == len(sequence) == 10_000
    assert sequence[:3] == (0, 1, 2)
