"""Law 3: a record applies if and only if its position lies on the buffer's chain."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core import swap
from ebbtide_core.errors import NotApplicable
from ebbtide_core.lineage.buffer import Buffer, Kind
from ebbtide_core.lineage.canonical import canonical
from ebbtide_core.lineage.chain import Position, Relation
from tests.laws.checks import caught
from tests.laws.depth import law
from tests.laws.lives import lives
from tests.laws.world import Generation, Life, Messages, dict_of, generations
from tests.strategies.messages import Edit, edits

Applies = Callable[[Position, Buffer], bool]
Tip = Callable[[Buffer], Position]


@st.composite
def edited_lives(draw: st.DrawFn) -> tuple[Life, Edit]:
    """Return a life, and its whole history after one edit."""
    life = draw(lives())
    return life, draw(edits([m for stage in life.stages for m in stage]))


def stale_by_growth(life: Life, applies: Applies = swap.applies) -> list[str]:
    """Return each record that a buffer no longer takes though nothing but growth happened."""
    faults = []
    made: list[Position] = []
    for g in generations(life):
        made.append(g.record.position)
        raw, kept = g.world.read(g.raw), g.world.read(g.after)
        faults += [f"{p} does not apply to the raw history" for p in made if not applies(p, raw)]
        ahead = [p for p in made if p.count >= kept.chain.base.count]
        faults += [f"{p} does not apply to the swapped buffer" for p in ahead if not applies(p, kept)]
    return faults


def wrong_after_edit(example: tuple[Life, Edit], applies: Applies = swap.applies) -> list[str]:
    """Return each point of the old history at which a record is taken though what lies before it changed, or
    refused though it didn't; of the raw history, and of every buffer that had swapped before the edit."""
    life, edit = example
    old = life.world.read([m for stage in life.stages for m in stage])
    new = life.world.read(edit.buffer)
    points = [old.chain.at(count) for count in range(old.chain.tip.count + 1)]
    faults = [f"{p} on the raw history" for p in points if applies(p, new) != (p.count <= edit.same)]
    for g in generations(life):
        if g.record.base.count or g.record.position.count > edit.same:
            continue
        swapped = _swapped(g, new)
        base = g.record.position.count
        wrong = (p for p in points if p.count >= base and applies(p, swapped) != (p.count <= edit.same))
        faults += [f"{p} on the buffer swapped at {base}" for p in wrong]
    return faults


def _swapped(g: Generation, new: Buffer) -> Buffer:
    """What a host that had swapped this record holds after the edit, which lies behind the position."""
    keep = g.world.read(g.after)
    head = [
        m for e, m in zip(keep.entries, keep.passed, strict=True) if e.kind in (Kind.SUMMARY, Kind.CARRIED)
    ]
    later = zip(new.entries, new.passed, strict=True)
    tail = [m for e, m in later if e.kind is Kind.SPOKEN and e.index >= g.record.position.count]
    return g.world.read([*head, *tail])


def lost_tips(life: Life, tip: Tip = lambda buffer: buffer.chain.tip) -> list[str]:
    """Return where a swapped buffer's chain does not end where that of the whole history ends."""
    faults = []
    for g in generations(life):
        whole = g.world.read(g.raw).chain.tip
        for name, messages in (("before", g.before), ("after", g.after)):
            found = tip(g.world.read(messages))
            faults += [f"{name} the swap {found}, in truth {whole}"] if found != whole else []
    return faults


@law
@given(lives())
def test_growth_never_makes_a_record_stale(life: Life) -> None:
    """A record made at a boundary applies however much is said after it, to raw and swapped buffers alike."""
    assert stale_by_growth(life) == []


@law
@given(edited_lives())
def test_a_record_applies_up_to_the_first_change_and_not_beyond(example: tuple[Life, Edit]) -> None:
    """After any edit exactly the positions before it still apply, in raw and swapped buffers alike."""
    assert wrong_after_edit(example) == []


@law
@given(lives())
def test_a_swapped_buffer_continues_the_chain_of_the_history(life: Life) -> None:
    """Both end at the same position, generation after generation."""
    assert lost_tips(life) == []


@law
@given(lives())
def test_a_record_makes_the_same_of_raw_and_swapped_buffers(life: Life) -> None:
    """A host that never swapped gets from the newest record the buffer of one that took every record."""
    for g in generations(life):
        assert swap.apply(g.record, g.world.read(g.raw)).messages == g.done.messages


@law
@given(lives())
def test_applying_a_record_again_changes_nothing(life: Life) -> None:
    """A buffer that has swapped a record stays as it is under the same record."""
    for g in generations(life):
        assert swap.apply(g.record, g.world.read(g.after)).messages == g.done.messages


@law
@given(lives())
def test_what_lies_before_a_summary_can_not_be_judged(life: Life) -> None:
    """A position before the base neither applies nor contradicts, one behind the tip neither."""
    for g in generations(life):
        kept, tip = g.world.read(g.after), g.world.read(g.raw).chain.tip
        early = g.world.read([]).chain.tip
        assert kept.chain.relation(early) is Relation.BEFORE
        assert kept.chain.relation(Position(tip.count + 1, tip.digest)) is Relation.AHEAD


@law
@given(edited_lives())
def test_apply_refuses_what_does_not_apply(example: tuple[Life, Edit]) -> None:
    """Where a record's position contradicts the buffer, a swap raises and names the version."""
    life, edit = example
    new = life.world.read(edit.buffer)
    for g in generations(life):
        if g.record.position.count > edit.same:
            with pytest.raises(NotApplicable, match=f"version {g.record.version} "):
                swap.apply(g.record, new)


def test_the_check_sees_records_judged_by_their_count_alone() -> None:
    """Comparing counts instead of digests is caught."""

    def by_count(position: Position, buffer: Buffer) -> bool:
        return buffer.chain.base.count <= position.count <= buffer.chain.tip.count

    assert caught(edited_lives(), lambda example: wrong_after_edit(example, by_count))


def test_the_check_sees_records_bound_to_the_end_of_the_buffer() -> None:
    """A record that only applies while nothing was appended is caught."""

    def at_tip(position: Position, buffer: Buffer) -> bool:
        return position == buffer.chain.tip

    assert caught(lives(), lambda life: stale_by_growth(life, at_tip))


def test_the_check_sees_a_reader_that_ignores_carried_messages() -> None:
    """Counting carried messages as spoken anew is caught."""

    def forgetful(buffer: Buffer) -> Position:
        counted: Messages = [
            dict_of(m)
            for e, m in zip(buffer.entries, buffer.passed, strict=True)
            if e.kind in (Kind.CARRIED, Kind.SPOKEN)
        ]
        start = type(buffer.chain)(buffer.chain.base)
        return start.extend(canonical(m, buffer.dialect) for m in counted).tip

    assert caught(lives(), lambda life: lost_tips(life, forgetful))
