"""Law 1: only a published record removes anything; what a view leaves out is declared."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hypothesis import given

from ebbtide_core import swap
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.buffer import Buffer, checked
from ebbtide_core.lineage.canonical import canonical
from ebbtide_core.swap import Swap
from ebbtide_core.views.view import Rung, View
from tests.laws.checks import caught, framed, is_system, result_texts, said, uids
from tests.laws.depth import law
from tests.laws.lives import UID, lives
from tests.laws.world import Apply, Generation, Life, World, generations

_NOTICE = re.compile(r"\[(\d+) earlier messages? ")
_CLIPPED = re.compile(r"\n\[\.\.\. (\d+) characters of this tool result are left out \.\.\.\]\n")


def unpublished_losses(life: Life, apply: Apply = swap.apply) -> list[str]:
    """Return each message that left a buffer without a record standing for it, or came from nowhere."""
    return [fault for g in generations(life, apply) for fault in _losses(g)]


def _losses(g: Generation) -> list[str]:
    before, after = uids(g.before), uids(g.after)
    gone = set(before) - set(after)
    covered = uids(said(g.raw)[: g.record.position.count])
    carried = {covered[c.index] for c in g.record.carried}
    released = {covered[c.index] for c in g.record.released}
    listed = {g.before[i][UID] for i in g.done.removed if UID in g.before[i]}
    faults = [f"{u} left without a record" for u in gone - set(covered)]
    faults += [f"{u} left though carried" for u in gone & carried]
    faults += [f"{u} stayed though summarised" for u in (set(after) & set(covered)) - carried]
    faults += [f"{u} came from nowhere" for u in set(after) - set(before)]
    if listed != gone:
        faults.append(f"the swap lists {sorted(listed)} as removed, gone are {sorted(gone)}")
    if released != gone & set(covered[: g.record.base.count]):
        faults.append(f"the record releases {sorted(released)}, gone are {sorted(gone)}")
    return faults


def undeclared(world: World, buffer: Buffer, view: View) -> list[str]:
    """Return where a view's declared omissions are not exactly what it leaves out or shortens."""
    missing, shortened = _missing(world, buffer, view)
    faults = [] if set(missing).isdisjoint(shortened) else ["a message is both missing and shortened"]
    declared = [i for gap in view.omitted for i in _indices(buffer, gap.start, gap.stop)]
    if sorted(declared) != sorted([*missing, *shortened]):
        faults.append(f"declared {declared}, left out {missing}, shortened {shortened}")
    for gap in view.omitted:
        span = _indices(buffer, gap.start, gap.stop)
        names = [framed(b"ebbtide/message/1", [_canonical(world, buffer, i)]).encode() for i in span]
        if gap.messages != len(span) or gap.digest != framed(b"ebbtide/omitted/1", names):
            faults.append(f"the omission {gap} does not name {span}")
    told = [int(n) for m in view.messages if UID not in m for n in _NOTICE.findall(str(m["content"]))]
    summaries = sum(UID not in buffer.passed[i] for i in missing)
    if sum(told) != len(missing) - (summaries if view.rung is Rung.EXTRACTIVE else 0):
        faults.append(f"the model is told of {told}, left out are {missing}")
    return faults


def _indices(buffer: Buffer, start: int, stop: int) -> list[int]:
    return [i for i in range(start, stop) if not is_system(buffer.passed[i])]


def _canonical(world: World, buffer: Buffer, index: int) -> bytes:
    return canonical(checked(buffer.passed[index], 0, world.dialect), world.dialect)


def _missing(world: World, buffer: Buffer, view: View) -> tuple[list[int], list[int]]:
    """Return the buffer indices that the view left out, and those that it holds with shorter results."""
    left = {_name(m): m for m in view.messages}
    missing, shortened = [], []
    for i, message in enumerate(buffer.passed):
        sent = left.get(_name(message))
        if sent is None:
            missing.append(i)
        elif result_texts(world.fmt, sent) != result_texts(world.fmt, message):
            shortened.append(i)
    return missing, shortened


def _name(message: Message) -> Any:
    """A message of the history goes by its `uid`, a summary by its text."""
    return message[UID] if UID in message else message["content"]


def misreported_clips(world: World, buffer: Buffer, view: View) -> list[str]:
    """Return each clipped text that is not its original's head and tail, or says a wrong number between."""
    originals = {message.get(UID): message for message in buffer.passed}
    faults = []
    for sent in view.messages:
        if UID not in sent:
            continue
        kept = originals[sent[UID]]
        texts = zip(result_texts(world.fmt, sent), result_texts(world.fmt, kept), strict=True)
        faults += [
            f"clipped to {short!r}" for short, long in texts if short != long and not _fair(short, long)
        ]
    return faults


def _fair(short: str, long: str) -> bool:
    parts = _CLIPPED.split(short, maxsplit=1)
    if len(parts) != 3:
        return False
    head, number, tail = parts
    in_place = long.startswith(head) and long.endswith(tail) and bool(head) and bool(tail)
    return in_place and int(number) == len(long) - len(head) - len(tail)


@law
@given(lives())
def test_messages_leave_a_buffer_only_by_a_swap(life: Life) -> None:
    """What a swap takes out lies before its record's position and is not carried; all else is still there."""
    assert unpublished_losses(life) == []


@law
@given(lives())
def test_a_view_declares_exactly_what_it_leaves_out(life: Life) -> None:
    """Spans, counts and digests of every rung's omissions, and its notices, add up to what is missing."""
    for g in generations(life):
        for buffer in (g.buffer, g.world.read(g.after)):
            for view in g.world.views(buffer):
                assert undeclared(g.world, buffer, view) == []
                assert misreported_clips(g.world, buffer, view) == []


@law
@given(lives())
def test_views_never_reach_the_buffer(life: Life) -> None:
    """Whatever views were made of it, a record swaps the same buffer in."""
    for g in generations(life):
        g.world.views(g.buffer)
        assert swap.apply(g.record, g.buffer) == g.done


def test_the_check_sees_a_swap_that_loses_one_more_message() -> None:
    """A swap that drops the first message after the position is caught."""

    def greedy(record: SummaryRecord, buffer: Buffer) -> Swap:
        done = swap.apply(record, buffer)
        return replace(done, messages=done.messages[:-1])

    assert caught(lives(), lambda life: unpublished_losses(life, greedy))


def test_the_check_sees_an_omission_list_that_is_short_by_one() -> None:
    """A view that doesn't declare its last gap is caught, as is one whose count is wrong."""

    def short(life: Life) -> list[str]:
        faults = []
        for g in generations(life):
            for view in g.world.views(g.buffer):
                wrong = replace(view, omitted=view.omitted[:-1])
                faults += undeclared(g.world, g.buffer, wrong)
        return faults

    def miscounted(life: Life) -> list[str]:
        faults = []
        for g in generations(life):
            for view in g.world.views(g.buffer):
                first = replace(view.omitted[0], messages=view.omitted[0].messages + 1)
                faults += undeclared(g.world, g.buffer, replace(view, omitted=(first, *view.omitted[1:])))
        return faults

    assert caught(lives(), short)
    assert caught(lives(), miscounted)
