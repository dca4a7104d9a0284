"""Law 9, as far as it is arithmetic: what a swap saves, where it ends, and that cutting comes to an end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given

from ebbtide_core import swap
from ebbtide_core.budget.boundary import Cut, newest_real
from ebbtide_core.contract.manifest import PROGRESS, Figures
from ebbtide_core.lineage.buffer import Buffer, Kind
from ebbtide_core.lineage.exchanges import exchanges
from tests.laws.checks import caught
from tests.laws.depth import law
from tests.laws.lives import lives
from tests.laws.world import Generation, Life, generations

Judge = Callable[[Cut], Cut]


def miscounted(life: Life, judge: Judge = lambda cut: cut) -> list[str]:
    """Return where a cut's figures are not what the swap then saves and keeps."""
    faults = []
    for g in generations(life):
        cut = judge(g.cut)
        before, after = sum(g.world.tokens(g.buffer)), g.world.read(g.done.messages)
        old = _size(g, g.buffer, Kind.SUMMARY)
        new = _size(g, after, Kind.SUMMARY)
        total = sum(g.world.tokens(after))
        if total != before - cut.new_tokens - old + new:
            faults.append(f"{total} tokens after, due {before} - {cut.new_tokens} - {old} + {new}")
        elsewhere = _size(g, g.buffer, Kind.SYSTEM, g.cut.index)
        if total != cut.tail_tokens + elsewhere + new:
            faults.append(f"{total} tokens after, due {cut.tail_tokens} + {elsewhere} + {new}")
    return faults


def _size(g: Generation, buffer: Buffer, kind: Kind, stop: int | None = None) -> int:
    """The tokens of the buffer's messages of one kind, up to an index."""
    sized = zip(buffer.entries[:stop], g.world.tokens(buffer), strict=False)
    return sum(size for entry, size in sized if entry.kind is kind)


@law
@given(lives())
def test_a_cut_says_exactly_what_a_swap_saves(life: Life) -> None:
    """`new_tokens` leave and the summary comes; what stays is `tail_tokens`, with system messages."""
    assert miscounted(life) == []


@law
@given(lives())
def test_a_summary_within_its_room_saves_a_tenth(life: Life) -> None:
    """A worker that keeps to the room the figures leave has made progress, without counting anything else."""
    for g in generations(life):
        after = g.world.read(g.done.messages)
        before = sum(g.world.tokens(g.buffer))
        figures = Figures(
            window=g.world.limits.window,
            soft=g.world.limits.soft,
            hard=g.world.limits.hard,
            projected=before + g.world.outside,
            outside=g.world.outside,
            tail=before - g.cut.new_tokens - _size(g, g.buffer, Kind.SUMMARY),
            ratio=1.0,
            summary_max_tokens=g.world.limits.summary_max_tokens,
        )
        if _size(g, after, Kind.SUMMARY) <= figures.summary_room:
            assert sum(g.world.tokens(after)) + g.world.outside <= PROGRESS * figures.projected


@law
@given(lives())
def test_positions_only_move_forward(life: Life) -> None:
    """Each record stands farther along the lineage than the one it builds on, so cutting comes to an end."""
    counts = [0]
    for g in generations(life):
        assert g.record.base.count == counts[-1]
        counts.append(g.record.position.count)
    assert counts == sorted(set(counts))


@law
@given(lives())
def test_a_buffer_just_swapped_has_little_left_to_cut(life: Life) -> None:
    """Cutting again at once either finds nothing or stops for good: no loops."""
    for g in generations(life):
        steps, buffer = 0, g.world.read(g.done.messages)
        cut = g.world.cut(buffer)
        while cut is not None:
            steps += 1
            assert cut.position.count > buffer.chain.base.count
            assert steps <= len(g.done.messages)
            buffer = g.world.read(swap.apply(g.world.record(buffer, cut, 100 + steps), buffer).messages)
            cut = g.world.cut(buffer)


@law
@given(lives())
def test_the_newest_real_exchange_always_stays(life: Life) -> None:
    """And with it every open call."""
    for g in generations(life):
        newest = newest_real(g.buffer.entries)
        assert newest is not None
        runs = exchanges(g.buffer.entries)
        assert g.cut.index <= next(run.start for run in runs if run.start <= newest < run.stop)
        assert all(g.cut.index <= run.start for run in runs if run.open)
        assert any(run.start == g.cut.index for run in runs)


def test_the_check_sees_a_cut_that_counts_what_it_keeps_as_saved() -> None:
    """Carried messages that are counted as summarised are caught."""

    def boastful(cut: Cut) -> Cut:
        return replace(cut, new_tokens=cut.new_tokens + len(cut.carried))

    assert caught(lives(), lambda life: miscounted(life, boastful))
