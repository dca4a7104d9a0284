"""Driving a transcript: prepare before each assistant message, keep the buffer, append what followed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ebbtide.turn import Turn
from ebbtide_cli.replay.drive import steps
from ebbtide_core.dialects.base import Message
from ebbtide_core.errors import UnfittableRequest
from tests.cli.turns import Host, Json, assistant, talk, transcript, turn, user


def nothing() -> None:
    """No pace."""


def test_a_host_that_keeps_everything_sees_the_raw_history() -> None:
    """Each call gets exactly what lies before its assistant message, and the request's other parts."""
    messages = (
        assistant("hello"),
        user("a"),
        assistant("b"),
        user("c"),
        user("d"),
        assistant("e"),
        user("f"),
    )
    host = Host()
    found = list(steps(transcript(messages, system="s", tools=[1]), host, max_tokens=9, pause=nothing))
    assert host.asked == [[], list(messages[:2]), list(messages[:5])]
    assert [step.raw for step in found] == [0, 2, 5]
    assert [step.number for step in found] == [1, 2, 3]
    assert host.given == [{"system": "s", "tools": [1], "max_tokens": 9}] * 3


def test_an_answer_of_several_items_is_one_turn() -> None:
    """The items of a Responses answer came from one request; the outputs after it end the answer."""
    messages: tuple[Json, ...] = (
        user("go"),
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
        {"type": "function_call_output", "call_id": "b", "output": "ok"},
        assistant("done"),
    )
    host, told = Host(), replace(transcript(messages), format="openai_responses")
    found = list(steps(told, host, max_tokens=None, pause=nothing))
    assert [step.raw for step in found] == [1, 6] == list(told.turns)


def test_the_kept_buffer_is_passed_next_time() -> None:
    """What the host keeps replaces what was passed, whatever was sent."""

    def shorten(messages: list[Message]) -> Turn:
        return turn(messages[-1:], sent=[])

    host = Host(shorten)
    list(steps(transcript(talk(3)), host, max_tokens=None, pause=nothing))
    raw = talk(3)
    assert host.asked == [[raw[0]], [*raw[:3]], [*raw[2:5]]]


def test_an_unfittable_turn_counts_and_the_replay_goes_on() -> None:
    """The turn that the error carries is used like any other."""

    def refuse(messages: list[Message]) -> Turn:
        raise UnfittableRequest(projected=9, limit=5, smallest=7, turn=turn(messages[-1:]))

    found = list(steps(transcript(talk(2)), Host(refuse), max_tokens=None, pause=nothing))
    assert [step.unfittable for step in found] == [True, True]
    assert len(found[1].before) == 3


def test_each_turn_waits_for_its_pace() -> None:
    """The pause comes before each turn, and what it raises ends the replay."""
    calls: list[int] = []

    def pause() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise InterruptedError

    host = Host()
    with pytest.raises(InterruptedError):
        list(steps(transcript(talk(5)), host, max_tokens=None, pause=pause))
    assert len(host.asked) == 2
