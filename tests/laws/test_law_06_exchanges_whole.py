"""Law 6: no output holds a result without its call, or a call without its result, unless the input did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.replay.provider_rules import new_violations
from ebbtide_core import swap
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.dialects.base import Message
from ebbtide_core.errors import NotApplicable
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.swap import Swap
from ebbtide_core.views.ladder import degrade
from tests.laws.checks import calls_of, caught, results_of, said, sent_form, torn, uids
from tests.laws.depth import law
from tests.laws.lives import MARK, UID, lives
from tests.laws.world import Apply, Generation, Life, Messages, generations
from tests.strategies.messages import Format

LATE = -1
"""The `uid` of a message that is put in afterwards."""


def broken_swaps(life: Life, apply: Apply = swap.apply) -> list[str]:
    """Return what the swaps of a life tear apart, by pairing of ids and by the provider's rules."""
    faults = []
    for g in generations(life, apply):
        faults += torn(g.world.fmt, g.before, g.done.messages)
        faults += _rules(g.world.fmt, g.raw, g.done.messages)
    return faults


def _rules(fmt: Format, raw: Messages, messages: Sequence[Message]) -> list[str]:
    sent = [sent_form(m) for m in messages]
    return [f"{rule} at {i}" for rule, i in new_violations(fmt, raw, sent)]


def broken_late_swaps(life: Life) -> list[str]:
    """Return what a record tears apart that is applied only after all the rest was said.

    Judged by the provider's rules alone: a stray result of an id long answered may be said at any time, and
    growth makes no record stale.
    """
    faults = []
    whole = [m for stage in life.stages for m in stage]
    for g in generations(life):
        try:
            done = swap.apply(g.record, g.world.read(whole))
        except NotApplicable:
            continue
        faults += _rules(g.world.fmt, whole, done.messages)
    return faults


def broken_views(life: Life) -> list[str]:
    """Return what the rungs tear apart, of the buffer before each swap and after it."""
    faults = []
    for g in generations(life):
        for kept in (g.before, g.after):
            for view in g.world.views(g.world.read(kept)):
                faults += [f"{view.rung}: {f}" for f in torn(g.world.fmt, kept, view.messages)]
                faults += [f"{view.rung}: {f}" for f in _rules(g.world.fmt, g.raw, view.messages)]
    return faults


@law
@given(lives())
def test_swaps_keep_exchanges_whole(life: Life) -> None:
    """Calls and results leave and stay together, and no rule of the provider is newly broken."""
    assert broken_swaps(life) == []


@law
@given(lives())
def test_late_swaps_keep_exchanges_whole(life: Life) -> None:
    """The same holds when calls were answered, and more was said, while the record was made."""
    assert broken_late_swaps(life) == []


@law
@given(lives())
def test_every_rung_keeps_exchanges_whole(life: Life) -> None:
    """The same holds for each degraded view."""
    assert broken_views(life) == []


@law
@given(lives())
def test_the_chosen_view_is_the_first_that_fits(life: Life) -> None:
    """The ladder gives the mildest view below hard, or the smallest that is smaller than the buffer, and says
    whether the window holds what is sent."""
    for g in generations(life):
        views, chosen = g.world.views(g.buffer), degrade(g.world.ground(g.buffer), g.cut)
        room = g.world.limits.hard - g.world.outside
        fitting = [v for v in views if v.tokens <= room]
        smaller = [v for v in views if v.tokens < sum(g.world.tokens(g.buffer))]
        smallest = min(smaller, key=lambda v: v.tokens, default=None)
        assert chosen.view == (fitting[0] if fitting else smallest)
        measured = sum(g.world.size(m) for m in (chosen.view.messages if chosen.view else g.before))
        assert chosen.view is None or chosen.view.tokens == measured
        assert chosen.fits == (measured + g.world.outside <= g.world.limits.window or bool(fitting))


@st.composite
def joined_later(draw: st.DrawFn) -> tuple[Life, int]:
    """Return a life, and where in its history an ephemeral answer to an earlier call is put in afterwards."""
    life = draw(lives())
    return life, draw(st.integers(0, sum(map(len, life.stages))))


@law
@given(joined_later())
def test_a_record_is_refused_rather_than_tear_an_ephemeral_message_off(example: tuple[Life, int]) -> None:
    """An ephemeral result put in before the position stays with its call: a swap keeps both or raises."""
    life, at = example
    for g in generations(life):
        later = _answered(g, at)
        try:
            done = swap.apply(g.record, g.world.read(later))
        except NotApplicable:
            continue
        assert not [f for f in torn(g.world.fmt, later, done.messages) if f"result {LATE} " in f]


def _answered(g: Generation, at: int) -> Messages:
    """The history with one more result, of the last call before `at`, that stands outside the lineage.

    What comes after the position is growth, which never makes a record stale.
    """
    fmt = g.world.fmt
    border = uids(g.raw).index(uids(said(g.raw))[g.record.position.count - 1])
    names = [name for m in g.raw[:at] for name in calls_of(fmt, m)]
    if not names or at > border:
        return g.raw
    extra: dict[str, Any] = {UID: LATE, MARK: {"ephemeral": True}}
    if fmt == "openai":
        extra |= {"role": "tool", "tool_call_id": names[-1], "content": "late"}
    else:
        result = {"type": "tool_result", "tool_use_id": names[-1], "content": "late"}
        extra |= {"role": "user", "content": [result]}
    return [*g.raw[:at], extra, *g.raw[at:]]


def test_the_check_sees_a_swap_that_cuts_inside_an_exchange() -> None:
    """A swap that also takes the call after its position is caught by both judges."""

    def cutting(record: SummaryRecord, buffer: Buffer) -> Swap:
        done = swap.apply(record, buffer)
        fmt = buffer.dialect.name
        at = next((i for i, m in enumerate(done.messages) if calls_of(fmt, m)), None)  # type: ignore[arg-type]
        if at is None or not any(results_of(fmt, m) for m in done.messages[at:]):  # type: ignore[arg-type]
            return done
        return replace(done, messages=(*done.messages[:at], *done.messages[at + 1 :]))

    faults = caught(lives(), lambda life: broken_swaps(life, cutting))
    assert any("torn apart" in f for f in faults)
    assert any(f.startswith("result_without_call") for f in faults)
