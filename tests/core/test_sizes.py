"""Sizes: counts that go on with a growing buffer."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.budget.tokens import ByteEstimate
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import Buffer, read
from tests.core.say import ANTHROPIC, reading, user
from tests.strategies.messages import FORMATS, Format, buffers


@dataclass
class Counting(ByteEstimate):
    """An estimate that counts how often it is asked."""

    calls: int = 0

    def count(self, text: str) -> int:
        """Return the estimated number of tokens."""
        self.calls += 1
        return super().count(text)


def one_by_one(meter: Meter, buffer: Buffer) -> list[int]:
    """The count of each message of a buffer by itself."""
    return [meter.tokens(*each) for each in zip(buffer.entries, buffer.passed, strict=True)]


@pytest.mark.parametrize("fmt", FORMATS)
@given(data=st.data())
def test_going_on_gives_what_counting_anew_gives(fmt: Format, data: st.DataObject) -> None:
    """However the buffer grew, whether or not it was counted between, and when another one came instead."""
    messages = data.draw(buffers(fmt))
    dialect = by_name(fmt)
    meter = Meter(ByteEstimate(), dialect)
    known = read([], dialect)
    sizes = Sizes(meter, known)
    for end in sorted(data.draw(st.lists(st.integers(0, len(messages)), max_size=4))):
        known = read(messages[:end], dialect, known)
        sizes = sizes.follow(known)
        if data.draw(st.booleans()):
            assert sizes.exact() == sum(one_by_one(meter, known))
            assert sizes.bound == sizes.rough == sizes.exact()
        assert sizes.bound >= sum(one_by_one(Meter(ByteEstimate(), dialect), known))
    other = read([user("another"), *messages], dialect)
    assert sizes.follow(other).each() == one_by_one(meter, other)


def test_sizes_stay_those_of_their_buffer() -> None:
    """Two buffers may go on from the same one; neither changes the other's sizes or the first's."""
    first = reading([user("a"), user("b")])
    sizes = Sizes(Meter(Counting(), ANTHROPIC), first)
    grown = [sizes.follow(read([*first.passed, user(words)], ANTHROPIC, first)) for words in ("c", "d " * 50)]
    assert [len(each.each()) for each in (sizes, *grown)] == [2, 3, 3]
    assert sizes.exact() < grown[0].exact() < grown[1].exact()


def test_what_is_known_is_not_looked_at_again() -> None:
    """A message is counted once, and after that only new ones are taken in."""
    tokens = Counting()
    messages = [user(str(number)) for number in range(50)]
    known = reading(messages[:40])
    sizes = Sizes(Meter(tokens, ANTHROPIC), known)
    sizes.exact()
    assert tokens.calls == 40
    for end in range(41, 51):
        known = read(messages[:end], ANTHROPIC, known)
        sizes = sizes.follow(known)
        sizes.exact()
    assert tokens.calls == 50
    assert Sizes(sizes.meter, known).exact() == sizes.exact()
    assert tokens.calls == 50
