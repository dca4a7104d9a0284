"""Which messages go into which call: nothing twice, nothing missed, borders that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.summary.source import SourceMessage
from ebbtide_worker.plan import Plan, Span, borders, plan
from ebbtide_worker.snapshot import Snapshot
from tests.worker.snapshots import count, snapshot, words

BUDGET = 20


@dataclass(frozen=True)
class Range:
    """A range of lineage messages: their sizes, where exchanges begin, which are carried."""

    first: int
    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    carried: tuple[int, ...]

    @property
    def snapshot(self) -> Snapshot:
        """The range as a snapshot."""
        return snapshot(self.sizes, first=self.first, starts=self.starts, carried=self.carried)


@st.composite
def ranges(draw: st.DrawFn, most: int = 30) -> Range:
    """Return ranges with exchanges of several sizes, some over the budget."""
    first = draw(st.integers(0, 5))
    sizes = draw(st.lists(st.integers(1, 30), min_size=1, max_size=most))
    indices = range(first, first + len(sizes))
    starts = sorted({first, *draw(st.sets(st.sampled_from(indices)))})
    carried = sorted(draw(st.sets(st.sampled_from(indices), max_size=4)))
    return Range(first, tuple(sizes), tuple(starts), tuple(carried))


def covered(spans: Sequence[Span], given_range: Range) -> bool:
    """Law 2: each message from base to position lies in exactly one span, without gap or overlap."""
    indices = [index for span in spans for index in range(span.first, span.stop)]
    return indices == list(range(given_range.first, given_range.first + len(given_range.sizes)))


@given(ranges())
def test_law_02_coverage_spans_partition_the_range(r: Range) -> None:
    """Spans follow each other from the base to the position."""
    assert covered(plan(r.snapshot, BUDGET, count).spans, r)


def test_the_checker_of_law_02_finds_a_hole() -> None:
    """A plan that loses a message between two spans does not pass."""
    r = Range(0, (5, 5, 5), (0, 1, 2), ())
    holed = [Span(0, 1, "", ()), Span(2, 3, "", ())]
    assert not covered(holed, r)
    assert covered([Span(0, 2, "", ()), Span(2, 3, "", ())], r)


@given(ranges())
def test_each_message_is_shown_whole_exactly_once_unless_carried(r: Range) -> None:
    """The texts of all calls, joined by message, are the texts of all messages that are not carried."""
    shown: dict[int, str] = {}
    for chunk in plan(r.snapshot, BUDGET, count).chunks:
        for message in chunk.messages:
            text = "".join(block.text for block in message.blocks)
            shown[message.index] = shown.get(message.index, "") + text
    expected = {
        index: words(index, size) for index, size in enumerate(r.sizes, r.first) if index not in r.carried
    }
    assert shown == expected


@given(ranges())
def test_no_call_is_over_the_budget(r: Range) -> None:
    """A call holds at most the budget, whatever the sizes of messages and exchanges."""
    for chunk in plan(r.snapshot, BUDGET, count).chunks:
        assert chunk.tokens <= BUDGET
        assert sum(count(b.text) for m in chunk.messages for b in m.blocks) == chunk.tokens


@given(ranges())
def test_exchanges_are_cut_only_when_one_alone_is_over_the_budget(r: Range) -> None:
    """A span begins where an exchange does, and one that is over the budget is a single exchange."""
    sizes = [0 if i in r.carried else n for i, n in enumerate(r.sizes, r.first)]
    for start, stop in borders(sizes, r.first, r.starts, BUDGET):
        assert start in r.starts
        weighty = [s for s in r.starts if start <= s < stop and _weight(r, sizes, s)]
        total = sum(sizes[start - r.first : stop - r.first])
        assert total <= BUDGET or len(weighty) == 1


def _weight(r: Range, sizes: Sequence[int], start: int) -> int:
    later = [s for s in r.starts if s > start]
    stop = later[0] if later else r.first + len(sizes)
    return sum(sizes[start - r.first : stop - r.first])


@given(ranges(), st.integers(0, 30))
def test_borders_stay_when_the_range_grows(r: Range, cut: int) -> None:
    """All spans but the last of a shorter range are spans of the longer one, digests and calls included."""
    stops = [s for s in r.starts if s > r.first]
    stop = stops[cut % len(stops)] if stops else r.first + len(r.sizes)
    shorter = Range(
        r.first,
        r.sizes[: stop - r.first],
        tuple(s for s in r.starts if s < stop),
        tuple(c for c in r.carried if c < stop),
    )

    before, after = plan(shorter.snapshot, BUDGET, count), plan(r.snapshot, BUDGET, count)

    kept = before.spans[:-1]
    assert after.spans[: len(kept)] == kept


@given(ranges())
def test_the_same_range_gives_the_same_plan(r: Range) -> None:
    """Planning is deterministic."""
    assert plan(r.snapshot, BUDGET, count) == plan(r.snapshot, BUDGET, count)


def test_released_messages_come_first_and_are_in_no_span() -> None:
    """What the base carried until now is chunk 0."""
    made = plan(snapshot([5, 5], first=9, released=(2, 7)), BUDGET, count)

    assert [[m.index for m in chunk.messages] for chunk in made.chunks] == [[2, 7], [9, 10]]
    assert [(span.first, span.stop) for span in made.spans] == [(9, 11)]
    assert made.chunks[0].label == "earlier messages 2 to 7"


def test_parts_of_an_oversized_message_are_labelled() -> None:
    """A message over the budget is one span of several calls, which say which part they are."""
    made = plan(snapshot([3, 50, 3]), BUDGET, count)

    assert [(span.first, span.stop, len(span.chunks)) for span in made.spans] == [
        (0, 1, 1),
        (1, 2, 3),
        (2, 3, 1),
    ]
    assert [c.label for c in made.spans[1].chunks] == [f"message 1, part {n} of 3" for n in (1, 2, 3)]


def test_a_split_call_loses_its_arguments_and_a_whole_one_keeps_them() -> None:
    """Pieces of a call's JSON are text; nobody must take them for the call's input."""
    call = Block(BlockKind.CALL, words(0, 50), "write", "c1", {"path": "a.py"})
    small = Block(BlockKind.CALL, "{}", "list", "c2", {})
    base = snapshot([60])
    message = SourceMessage(0, "assistant", [call, small])

    made: Plan = plan(Snapshot(base.manifest, (message,), base.forms, ()), BUDGET, count)

    blocks = [block for chunk in made.chunks for m in chunk.messages for block in m.blocks]
    assert [b.arguments for b in blocks if b.name == "write"] == [None] * (len(blocks) - 1)
    assert [b.arguments for b in blocks if b.name == "list"] == [{}]
    assert len(blocks) > 2


def test_a_range_whose_messages_are_all_carried_needs_no_call() -> None:
    """Carried messages are covered, but shown to nobody."""
    made = plan(snapshot([5, 5], carried=(0, 1)), BUDGET, count)

    assert made.chunks == ()
    assert [(span.first, span.stop) for span in made.spans] == [(0, 2)]
