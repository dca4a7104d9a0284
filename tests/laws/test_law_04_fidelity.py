"""Law 4: kept messages come out as they went in, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given

from ebbtide_core import swap
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.swap import Swap
from ebbtide_core.views.view import Rung, View
from tests.laws.checks import caught, is_system, result_texts, sent_form, uids
from tests.laws.depth import law
from tests.laws.lives import MARK, UID, lives
from tests.laws.world import Apply, Generation, Life, World, generations


def unfaithful(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """Return each kept message that is another object than before, or stands in another order.

    System messages may gather at the head; among themselves they keep their order too.
    """
    mine = {id(m) for m in before}
    faults = [f"{m.get(UID)} is another object" for m in after if UID in m and id(m) not in mine]
    for system in (False, True):
        names = uids(m for m in after if is_system(m) is system)
        order = uids(m for m in before if is_system(m) is system)
        if names != [u for u in order if u in names]:
            faults.append(f"order of {names} was {order}")
    return faults


def unfaithful_swaps(life: Life, apply: Apply = swap.apply) -> list[str]:
    """Return what the swaps of a life change of what they keep."""
    return [fault for g in generations(life, apply) for fault in _swap_faults(g)]


def _swap_faults(g: Generation) -> list[str]:
    faults = unfaithful(g.before, g.done.messages)
    made = [m for m in g.done.messages if UID not in m]
    if made != [g.done.summary_message]:
        faults.append(f"{len(made)} messages were made, one is due")
    return faults


def _sent_otherwise(world: World, before: Sequence[Message], view: View) -> list[str]:
    """Return what a rung changed: only results may differ, only in the clipped rung."""
    kept = {m[UID]: m for m in before if UID in m}
    faults = unfaithful(before, [m for m in view.messages if m is kept.get(m.get(UID))])
    for sent in view.messages:
        original = kept.get(sent.get(UID))
        if original is None or sent is original:
            continue
        if view.rung is not Rung.CLIPPED or not result_texts(world.fmt, original):
            faults.append(f"{sent[UID]} was changed")
        elif (
            sent_form(sent) != sent
            or set(sent) != set(original) - {MARK}
            or sent.get("role") != original.get("role")
        ):
            faults.append(f"{sent[UID]} has other keys")
    order = uids(before)
    systems = {m[UID] for m in before if is_system(m) and UID in m}
    names = [u for u in uids(view.messages) if u not in systems]
    return faults if names == [u for u in order if u in set(names)] else [*faults, f"order of {names}"]


@law
@given(lives())
def test_a_swap_keeps_the_same_objects_in_the_same_order(life: Life) -> None:
    """Whatever stays in the buffer is what the host passed, and one message is new: the summary."""
    assert unfaithful_swaps(life) == []


@law
@given(lives())
def test_a_view_differs_by_marks_and_repairs_only(life: Life) -> None:
    """What is sent is each message without marks, lone surrogates replaced, else the same object."""
    for g in generations(life):
        for buffer in (g.buffer, g.world.read(g.after)):
            assert buffer.view == [sent_form(m) for m in buffer.messages]
            pairs = zip(buffer.view, buffer.messages, strict=True)
            assert all(sent is kept for sent, kept in pairs if sent_form(kept) == kept)


@law
@given(lives())
def test_rungs_change_nothing_but_the_results_they_clip(life: Life) -> None:
    """Each message of a degraded view is the buffer's own; in the clipped rung results may be shorter."""
    for g in generations(life):
        for view in g.world.views(g.buffer):
            assert _sent_otherwise(g.world, g.before, view) == []


def test_the_check_sees_a_swap_that_copies_messages() -> None:
    """Equal messages are not enough: a host's own objects stay."""

    def copying(record: SummaryRecord, buffer: Buffer) -> Swap:
        done = swap.apply(record, buffer)
        return replace(done, messages=tuple(dict(m) for m in done.messages))

    assert caught(lives(), lambda life: unfaithful_swaps(life, copying))


def test_the_check_sees_a_swap_that_moves_carried_messages_to_the_end() -> None:
    """Carried messages behind the tail are caught."""

    def moving(record: SummaryRecord, buffer: Buffer) -> Swap:
        done = swap.apply(record, buffer)
        at = done.messages.index(done.summary_message) + 1
        carried = [done.messages[i] for i in done.carried]
        rest = [m for m in done.messages[at:] if not any(m is c for c in carried)]
        return replace(done, messages=(*done.messages[:at], *rest, *carried))

    assert caught(lives(), lambda life: unfaithful_swaps(life, moving))
