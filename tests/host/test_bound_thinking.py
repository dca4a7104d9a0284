"""Thinking that a model binds to its prefix: left out whole once that prefix is rewritten, else as it is."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide import Action, mark
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.talk import REQUEST

BOUND, FREE = "claude-opus-5-5", "claude-haiku-4-5"


def thought(i: int, words: int = 60) -> list[dict[str, Any]]:
    """A call with the thinking that led to it, and its result."""
    thinking = {"type": "thinking", "thinking": f"perhaps {i}", "signature": f"SIG{i}"}
    call = {"type": "tool_use", "id": f"t{i}", "name": "bash", "input": {"command": f"make step-{i}"}}
    result = {"type": "tool_result", "tool_use_id": f"t{i}", "content": f"done {i} " + "ok " * words}
    return [{"role": "assistant", "content": [thinking, call]}, {"role": "user", "content": [result]}]


def work(rounds: int) -> list[Any]:
    """A request and as many calls."""
    return [{"role": "user", "content": REQUEST}, *(m for i in range(rounds) for m in thought(i))]


def signatures(messages: list[Any]) -> list[str]:
    """The signatures of the thinking blocks that are sent."""
    blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
    return [b["signature"] for b in blocks if b["type"] == "thinking"]


def swapped(host: Any, store: SyncStore, rounds: int = 15) -> Any:
    """The turn that puts the first record in."""
    buffer = work(rounds)
    assert host.prepare(buffer).report.action is Action.ENQUEUE
    assert host.flush()
    assert work_once(store) is not None
    turn = host.prepare(buffer)
    assert turn.report.action is Action.SWAP
    return turn


@pytest.mark.parametrize("raw", [False, True], ids=["kept", "raw"])
def test_after_a_swap_old_thinking_goes_and_new_thinking_stays(
    make_host: MakeHost, worker_store: SyncStore, raw: bool
) -> None:
    """What was signed before the summary came is left out for good, what is signed behind it is kept: the
    bytes sent don't change from turn to turn. The buffer keeps all of it."""
    host = make_host(model=BOUND)
    turn = swapped(host, worker_store)
    assert signatures(turn.messages) == []
    assert turn.report.thinking == len(signatures(turn.buffer)) > 0
    history = work(15) if raw else turn.buffer
    sent = turn.messages
    for i in (15, 16):
        history = history + thought(i)
        turn = host.prepare(history)
        assert signatures(turn.messages) == [f"SIG{n}" for n in range(15, i + 1)]
        assert turn.messages[: len(sent)] == sent
        sent = turn.messages
    assert all(m["content"] for m in turn.messages)


def test_a_model_that_binds_nothing_gets_every_byte(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The open tool loop's thinking above all."""
    turn = swapped(make_host(model=FREE), worker_store)
    assert turn.messages == turn.buffer
    assert signatures(turn.messages) != []
    assert turn.report.thinking == 0


def test_without_a_rewrite_nothing_is_left_out(make_host: MakeHost) -> None:
    """Marks, too, are no rewrite: they were never sent."""
    messages = [mark(m, internal=True) if m["role"] == "user" else m for m in work(3)]
    turn = make_host(model=BOUND).prepare(messages)
    assert signatures(turn.messages) == ["SIG0", "SIG1", "SIG2"]
    assert turn.report.thinking == 0


def test_a_host_that_meets_a_summary_first_keeps_no_thinking_it_did_not_see_signed(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Which of it was signed behind the summary can't be told after a restart."""
    turn = swapped(make_host(model=BOUND), worker_store)
    buffer = [*turn.buffer, *thought(15)]
    other = make_host(model=BOUND)
    again = other.prepare(buffer)
    assert signatures(again.messages) == []
    assert signatures(other.prepare([*buffer, *thought(16)]).messages) == ["SIG16"]


def test_a_degraded_view_keeps_thinking_that_came_after_it(make_host: MakeHost) -> None:
    """A view that goes out again is the prefix that the new thinking was signed for."""
    host, messages = make_host(model=BOUND), work(40)
    first = host.prepare(messages)
    assert first.report.degraded
    assert signatures(first.messages) == []
    second = host.prepare([*messages, *thought(40)])
    assert second.messages == [*first.messages, *thought(40)]
    assert signatures(second.messages) == ["SIG40"]


def test_thinking_behind_an_ephemeral_message_goes_with_it(make_host: MakeHost) -> None:
    """It was signed for a prefix that held the message; what stands after that is signed anew."""
    host = make_host(model=BOUND)
    status = mark({"role": "user", "content": "12:00"}, ephemeral=True)
    assert signatures(host.prepare([*work(2), status]).messages) == ["SIG0", "SIG1"]
    assert signatures(host.prepare(work(3)).messages) == []
    assert signatures(host.prepare(work(4)).messages) == ["SIG3"]


def test_taking_back_what_was_said_last_rewrites_nothing(make_host: MakeHost) -> None:
    """What is left stands behind the same messages as before."""
    host = make_host(model=BOUND)
    host.prepare(work(4))
    assert signatures(host.prepare(work(3)).messages) == ["SIG0", "SIG1", "SIG2"]


@pytest.mark.parametrize("how", ["reset", "fork"])
def test_who_goes_on_from_a_view_knows_what_was_signed_behind_it(make_host: MakeHost, how: str) -> None:
    """The messages hold no trace of the view, the provider remembers it: that thinking is refused now."""
    host, messages = make_host(model=BOUND), work(40)
    assert host.prepare(messages).report.degraded
    messages += thought(40)
    assert signatures(host.prepare(messages).messages) == ["SIG40"]
    if how == "reset":
        host.reset()
    host = host.fork("branch") if how == "fork" else host
    host.switch(context_window=64_000)
    turn = host.prepare([*messages, *thought(41)])
    assert not turn.report.degraded
    assert signatures(turn.messages) == []


def test_sizes_are_those_of_what_is_sent(make_host: MakeHost) -> None:
    """The report's, and the one that reported usage is held against."""
    host, plain = make_host(model=BOUND, window=10_000), make_host(model=BOUND, window=10_000, session_id="b")
    messages = [{**m, "content": [_longer(b) for b in m["content"]]} for m in work(12)[1:]]
    status = mark({"role": "user", "content": "12:00"}, ephemeral=True)
    host.prepare([status, *messages])
    turn = host.prepare(messages)
    assert turn.report.thinking == 12
    assert turn.report.sent < turn.report.projected - 12 * 300
    alike = plain.prepare(turn.messages)
    assert turn.report.exact
    assert alike.report.exact
    assert abs(turn.report.sent - alike.report.sent) <= 1
    counted = alike.report.sent - 2_500
    host.observe({"input_tokens": counted})
    plain.observe({"input_tokens": counted})
    said_next = [*work(1), *thought(90)]
    assert host.prepare(said_next).report.projected == plain.prepare(said_next).report.projected


def _longer(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "thinking": "perhaps " * 300} if block["type"] == "thinking" else block
