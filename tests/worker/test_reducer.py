"""Merging partials: in order, in a tree that fits the summariser's window, for any number of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.errors import SummaryRejected
from ebbtide_core.summary.message import render
from ebbtide_core.summary.model import Summary
from ebbtide_worker.reducer import Reducer, grouped
from ebbtide_worker.summarisers.base import FaultKind, Partial, SummariserFault, Terms
from tests.worker.paying import new_calls, route_of
from tests.worker.scripted import Scripted
from tests.worker.snapshots import count

TERMS = Terms("acme", "", 1_000, count)


class Sized(Scripted):
    """Keeps what each merge was given."""

    def __init__(self, window: int) -> None:
        super().__init__(window=window)
        self.given: list[int] = []

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Note the size of what is merged."""
        whole = [part.summary for part in parts] + ([base] if base else [])
        self.given.append(sum(terms.count(render(summary)) for summary in whole))
        return await super().merge(parts, base, terms)


def reduced(summariser: Scripted, parts: Sequence[Summary], base: Summary | None = None) -> Summary:
    """Reduce with a lease that never runs out."""

    async def run() -> Summary:
        return await Reducer(route_of(summariser), TERMS, new_calls()).run(parts, base)

    return asyncio.run(run())


def part(n: int, size: int = 1) -> Summary:
    """A partial of one decision for each of `size` words."""
    return Summary(session_intent=f"intent {n}", decisions=tuple(f"d{n}-{i}" for i in range(size)))


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 40))
def test_groups_are_neighbours_and_each_round_leaves_fewer(sizes: list[int], room: int) -> None:
    """Groups partition the list in order, fit the room or are pairs, and only the last may be single."""
    runs = grouped(sizes, room)

    assert [i for start, stop in runs for i in range(start, stop)] == list(range(len(sizes)))
    assert all(stop - start >= 2 for start, stop in runs[:-1])
    assert all(sum(sizes[a:b]) <= room or b - a == 2 for a, b in runs if b - a > 1)
    assert len(runs) < len(sizes) or len(sizes) <= 1


@pytest.mark.parametrize("number", [1, 2, 3, 7, 25])
def test_any_number_of_parts_is_merged_in_order(number: int) -> None:
    """The lists of all parts are united in the order of the conversation, through all levels of the tree."""
    summariser = Sized(window=1_600)

    summary = reduced(summariser, [part(n, 2) for n in range(number)])

    assert summary.decisions == tuple(f"d{n}-{i}" for n in range(number) for i in range(2))
    assert all(size <= 800 for size in summariser.given)


def test_one_part_without_a_base_needs_no_call() -> None:
    """There is nothing to merge."""
    summariser = Scripted()

    assert reduced(summariser, [part(1)]) == part(1)
    assert summariser.merges == []


def test_the_base_is_an_input_of_the_merge_and_comes_first() -> None:
    """The base summary is given as the base, not as a part, and its items stand before the others."""
    summariser = Scripted()

    summary = reduced(summariser, [part(1)], base=part(0))

    assert summariser.merges == [(["part 1 of 1"], True)]
    assert summary.decisions == ("d0-0", "d1-0")
    assert summary.session_intent == "told by the merge"


def test_a_tree_labels_its_parts_by_number() -> None:
    """On the upper levels labels say which parts a summary stands for; only the first merge has the base."""
    summariser = Sized(window=900)

    reduced(summariser, [part(n, 20) for n in range(1, 6)], base=part(0, 20))

    assert any(base for _, base in summariser.merges)
    assert sum(base for _, base in summariser.merges) == 1
    assert summariser.merges[0] == (["part 1 of 5", "part 2 of 5"], True)
    assert summariser.merges[-1][0][-1].endswith("of 5")
    assert len(summariser.merges) > 2


def test_parts_too_large_for_one_call_are_cut_to_fit() -> None:
    """Two partials that don't fit the window together are fitted first, so no call is over it."""
    summariser = Sized(window=600)

    reduced(summariser, [part(n, 50) for n in range(4)])

    assert all(size <= 300 for size in summariser.given)


def test_nothing_to_merge_is_rejected() -> None:
    """Without base and parts there is no summary."""
    with pytest.raises(SummaryRejected):
        reduced(Scripted(), [])


def test_a_merge_that_writes_no_prose_changes_none() -> None:
    """An empty answer leaves what code merged."""

    class Silent(Scripted):
        async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
            return Partial(Summary(session_intent="  "))

    assert reduced(Silent(), [part(1), part(2)]).session_intent == "intent 1"


class Narrow(Sized):
    """Merges at most so many parts in one call."""

    def __init__(self, most: int) -> None:
        super().__init__(window=100_000)
        self.most = most

    async def merge(self, parts: Sequence[Partial], base: Summary | None, terms: Terms) -> Partial:
        """Refuse what is too much."""
        if len(parts) + (base is not None) > self.most:
            raise SummariserFault(FaultKind.TOO_LONG)
        return await super().merge(parts, base, terms)


@given(st.integers(2, 14), st.integers(2, 14), st.booleans())
def test_a_merge_that_is_too_much_is_made_in_smaller_groups(number: int, most: int, based: bool) -> None:
    """The order holds, the base stays the base, and each part is in it once."""
    summariser = Narrow(most)

    summary = reduced(summariser, [part(n) for n in range(1, number + 1)], part(0) if based else None)

    assert summary.decisions == tuple(f"d{n}-0" for n in range(0 if based else 1, number + 1))
    assert all(len(labels) + base <= most for labels, base in summariser.merges)
    assert sum(base for _, base in summariser.merges) == based


def test_two_parts_that_are_too_much_go_to_a_wider_hop_or_end() -> None:
    """There is no smaller group."""
    with pytest.raises(SummariserFault):
        reduced(Narrow(1), [part(1), part(2)])

    wide = Sized(window=200_000)

    async def run() -> Summary:
        route = route_of(Narrow(1), wide)
        return await Reducer(route, TERMS, new_calls()).run([part(1), part(2), part(3)], None)

    assert asyncio.run(run()).decisions == ("d1-0", "d2-0", "d3-0")
    assert len(wide.merges) == 2
