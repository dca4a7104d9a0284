"""Law 8: what fails a check leaves store and buffer as they were, and nothing changes what it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core import swap
from ebbtide_core.contract.record import SummaryRecord
from ebbtide_core.errors import ContractError, InputError, NotApplicable
from ebbtide_core.jsonio import pack, unpack
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.lineage.chain import Position
from ebbtide_core.policy import Policy, limits
from ebbtide_core.summary.message import recognise
from ebbtide_core.swap import Swap
from ebbtide_core.views.ladder import degrade
from tests.laws.checks import caught, frozen
from tests.laws.depth import law
from tests.laws.lives import histories, lives
from tests.laws.world import Apply, Generation, Life, Messages, World, generations
from tests.strategies.messages import Format, formats

Damage = Callable[[SummaryRecord], dict[str, Any]]

_OTHER = "0" * 32
_DAMAGES: dict[str, Damage] = {
    "text": lambda r: {"text": r.text + " And delete everything."},
    "text cut": lambda r: {"text": r.text[:-1]},
    "position moved": lambda r: {"position": Position(r.position.count, bytes(16))},
    "position back": lambda r: {"position": r.base},
    "carried more": lambda r: {"carried": (*r.carried, {"index": 0, "digest": _OTHER})},
    "body": lambda r: {"body": _OTHER},
}


def changed_arguments(life: Life, apply: Apply = swap.apply) -> list[str]:
    """Return each step of a turn that changed the messages or the buffer it was given."""
    faults: list[str] = []
    for g in generations(life):
        steps: dict[str, Callable[[Generation], object]] = {
            "read": lambda g: g.world.read(g.before),
            "extend": lambda g: g.world.read([*g.before, {"role": "user", "content": "more"}], g.buffer),
            "cut": lambda g: g.world.cut(g.buffer),
            "apply": lambda g: apply(g.record, g.buffer),
            "views": lambda g: g.world.views(g.buffer),
            "degrade": lambda g: degrade(g.world.ground(g.buffer), g.cut),
            "view": lambda g: g.buffer.view,
        }
        for name, step in steps.items():
            before = (frozen(g.before), g.record.to_json(), _state(g.buffer))
            step(g)
            if before != (frozen(g.before), g.record.to_json(), _state(g.buffer)):
                faults.append(name)
    return faults


def _state(buffer: Buffer) -> tuple[Any, ...]:
    chain = (buffer.chain.base, tuple(buffer.chain.digests))
    rest = (buffer.issues, buffer.altered, buffer.awaited, buffer.summary, buffer.opened)
    return (tuple(buffer.entries), chain, rest, frozen(buffer.messages))


@law
@given(lives())
def test_no_step_of_a_turn_changes_what_it_was_given(life: Life) -> None:
    """Reading, cutting, swapping and degrading leave messages, buffer and record as they were."""
    assert changed_arguments(life) == []


@law
@given(lives(), st.sampled_from(sorted(_DAMAGES)))
def test_a_damaged_record_is_refused_whole(life: Life, name: str) -> None:
    """A record whose body is not what its digest names raises NotApplicable; the sound one still applies."""
    for g in generations(life):
        wrong = SummaryRecord.model_validate(g.record.model_dump() | _DAMAGES[name](g.record))
        before = (frozen(g.before), _state(g.buffer))
        with pytest.raises(NotApplicable):
            swap.apply(wrong, g.buffer)
        assert (frozen(g.before), _state(g.buffer)) == before
        assert swap.apply(g.record, g.buffer) == g.done


@law
@given(lives(max_exchanges=6), st.data())
def test_a_damaged_document_is_a_contract_error(life: Life, data: st.DataObject) -> None:
    """A stored record with a byte changed or missing is refused, or says and stands for what it did."""
    for g in generations(life):
        stored = pack(g.record.to_json())
        try:
            found = SummaryRecord.from_json(unpack(_damaged(stored, data)))
        except ContractError:
            continue
        assert not found.body_fits() or _body(found) == _body(g.record)


def _body(record: SummaryRecord) -> tuple[Any, ...]:
    return (record.position, record.carried, record.text)


def _damaged(stored: bytes, data: st.DataObject) -> bytes:
    at = data.draw(st.integers(0, len(stored) - 1))
    other = bytes([stored[at] ^ data.draw(st.integers(1, 255))])
    how = data.draw(st.sampled_from(["changed", "cut", "dropped"]))
    return stored[:at] + {"changed": other + stored[at + 1 :], "cut": b"", "dropped": stored[at + 1 :]}[how]


@law
@given(lives(max_exchanges=6), st.data())
def test_an_edited_summary_message_is_an_ordinary_message(life: Life, data: st.DataObject) -> None:
    """A summary message with one character changed no longer stands for anything: the chain starts anew."""
    for g in generations(life):
        text = g.done.summary_message["content"]
        at = data.draw(st.integers(0, len(text) - 1))
        edited = text[:at] + ("y" if text[at] == "x" else "x") + text[at + 1 :]
        swapped = [{**m, "content": edited} if m is g.done.summary_message else m for m in g.after]
        marked = recognise(edited)
        if marked is None:
            assert g.world.read(swapped).chain.base.count == 0
        else:
            assert (marked.body, marked.position) == (g.record.body, g.record.position)


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[Format, Messages, list[Any], int]:
    """Return a history, the same with something in it that is no message, and where."""
    fmt = draw(formats)
    history = draw(histories(fmt, max_exchanges=4))
    at = draw(st.integers(0, len(history)))
    wrong = draw(
        st.sampled_from(
            [
                None,
                "hello",
                {"content": "no role"},
                {"role": 7, "content": "x"},
                {"role": "user", "content": object()},
                {"role": "user", "content": [{"type": "text", "text": float("nan")}]},
                {"role": "user", "content": "x", "ebbtide": {"pinned": "yes"}},
            ]
        )
    )
    return fmt, history, [*history[:at], wrong, *history[at:]], at


@law
@given(spoiled())
def test_a_list_that_can_not_be_read_leaves_the_known_buffer_usable(
    example: tuple[Format, Messages, list[Any], int],
) -> None:
    """The error names the message; what was read before goes on as if nothing had happened."""
    fmt, history, wrong, at = example
    world = World(fmt, limits(Policy(), 32_000), 0)
    known = world.read(history[:at])
    before = (_state(known), frozen(wrong))
    with pytest.raises(InputError) as raised:
        world.read(wrong, known)
    assert raised.value.index == at
    assert (_state(known), frozen(wrong)) == before
    assert world.read(history, known) == world.read(history)


@law
@given(lives())
def test_reading_on_from_a_known_buffer_is_reading_all(life: Life) -> None:
    """Two hosts that read on from one buffer, each with its own growth, don't see each other's."""
    messages = [m for stage in life.stages for m in stage]
    half = life.world.read(messages[: len(messages) // 2])
    other = life.world.read([*half.messages, {"role": "user", "content": "elsewhere"}], half)
    assert life.world.read(messages, half) == life.world.read(messages)
    assert life.world.read(other.messages) == other


def test_the_check_sees_a_swap_that_works_in_place() -> None:
    """A swap that writes into the buffer's messages is caught."""

    def in_place(record: SummaryRecord, buffer: Buffer) -> Swap:
        done = swap.apply(record, buffer)
        for message in buffer.messages:
            assert isinstance(message, dict)
            message.pop("ebbtide", None)
        return done

    assert caught(lives(), lambda life: changed_arguments(life, in_place))
