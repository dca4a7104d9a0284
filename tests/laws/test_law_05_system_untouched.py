"""Law 5: system and developer messages are never rewritten, dropped, or used to carry a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given

from ebbtide_core import swap
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.swap import Swap
from tests.laws.checks import caught, is_system
from tests.laws.depth import law
from tests.laws.lives import lives
from tests.laws.world import Apply, Life, dict_of, generations


def changed_system(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """Return how the system messages differ: the same objects must be there, in order, and no more."""
    old, new = [m for m in before if is_system(m)], [m for m in after if is_system(m)]
    if len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True)):
        return []
    return [f"system messages {old} became {new}"]


def changed_by_swaps(life: Life, apply: Apply = swap.apply) -> list[str]:
    """Return how the swaps of a life change system messages."""
    return [f for g in generations(life, apply) for f in changed_system(g.before, g.done.messages)]


@law
@given(lives())
def test_a_swap_leaves_system_messages_alone(life: Life) -> None:
    """All of them stay, the leading ones and those in mid-conversation, and the summary is none."""
    assert changed_by_swaps(life) == []


@law
@given(lives())
def test_every_view_holds_the_system_messages(life: Life) -> None:
    """No rung rewrites one, leaves one out, or speaks as the system."""
    for g in generations(life):
        for view in g.world.views(g.buffer):
            assert changed_system(g.before, view.messages) == []


@law
@given(lives())
def test_the_history_is_the_same_with_and_without_system_messages(life: Life) -> None:
    """They stand outside the lineage: positions don't depend on them."""
    for g in generations(life):
        bare = [m for m in g.raw if not is_system(m)]
        assert life.world.read(bare).chain == life.world.read(g.raw).chain


@law
@given(lives())
def test_leading_system_messages_stay_in_front(life: Life) -> None:
    """What opened the request as the system's words opens it after a swap; a request that a user opened is
    opened by the summary."""
    for g in generations(life):
        lead = next((i for i, m in enumerate(g.before) if not is_system(m)), 0)
        assert list(g.done.messages[:lead]) == g.before[:lead]
        assert lead > 0 or g.done.messages[0] is g.done.summary_message


def test_the_check_sees_a_swap_that_drops_system_messages() -> None:
    """A swap that takes a system message for an old one is caught."""

    def dropping(record: SummaryRecord, buffer: Buffer) -> Swap:
        done = swap.apply(record, buffer)
        return replace(done, messages=tuple(m for m in done.messages if not is_system(m)))

    assert caught(lives(), lambda life: changed_by_swaps(life, dropping))


def test_the_check_sees_a_summary_in_the_system_role() -> None:
    """A summary that speaks as the system is caught."""

    def speaking(record: SummaryRecord, buffer: Buffer) -> Swap:
        done = swap.apply(record, buffer)
        loud = {**dict_of(done.summary_message), "role": "system"}
        messages = (loud if m is done.summary_message else m for m in done.messages)
        return replace(done, messages=tuple(messages))

    assert caught(lives(), lambda life: changed_by_swaps(life, speaking))
