"""Requests that can't fit, and loops that tried for ever.

A summariser that answers with nothing, again and again, is rehearsed in `tests/worker/faults`: its job ends
with a named reason after bounded attempts, and the history stays as it was.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from ebbtide import Action, Reason, UnfittableRequest
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.views.view import Rung
from tests.core.say import assistant, call, result, user
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.talk import chat, said

Json = dict[str, Any]

GIANT = "HEAD " + "0123456789abcdef\n" * 112_000 + "exit code 3"
"""Of 1.9 million characters."""


def depth(store: SyncStore) -> int:
    """How many jobs wait in the index."""
    return store.run(fleet_calls.depth()).ready


def test_a_prompt_over_the_window_is_compacted_after_every_step_for_ever(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """System prompt and kept tail alone were over the window, so each compaction asked for the next. The turn
    ends in one definite error with the sizes, and nobody is asked for a summary that could not help."""
    host = make_host(window=64_000)
    messages = [user("a"), assistant("b"), user("c d " * 12_500)]
    for _ in range(3):
        with pytest.raises(UnfittableRequest, match="its smallest view") as caught:
            host.prepare(messages, system="s y " * 100_000)
        assert caught.value.projected >= caught.value.smallest > caught.value.limit == 64_000
        assert caught.value.turn.buffer == messages
        host.flush()
    assert depth(worker_store) == 0


def test_a_floor_above_the_watermark_is_compacted_after_every_step(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """What no compaction can take away was over the watermark itself: one was made at each step. Here one is
    made when there is enough that is new to it, and its report says that it was not enough."""
    host, buffer, swapped = make_host(window=8_000), chat(12), []
    system = "rule " * 5_300
    for i in range(12, 42):
        turn = host.prepare(buffer, system=system, max_tokens=100)
        host.flush()
        work_once(worker_store)
        if turn.swap:
            swapped.append(i)
            assert not turn.report.enough
        buffer = turn.buffer + said(i, words=10)
    assert 0 < len(swapped) < 10
    assert all(b - a > 1 for a, b in pairwise(swapped))


def test_one_giant_result_is_shortened_only_when_everything_is_many_windows(make_host: MakeHost) -> None:
    """A single result was most of the history, an error at that, and no limit on results applied to it. In
    the newest exchange its head and tail are sent with a mark between, beside its call."""
    messages = [user("dump"), assistant(call("t1")), user(result("t1", GIANT, is_error=True))]
    turn = make_host(window=500_000, model="claude-test").prepare(messages)
    assert (turn.report.action, turn.report.rung) == (Action.DEGRADE, Rung.CLIPPED)
    assert turn.report.sent <= turn.report.hard < turn.report.projected
    block = turn.messages[-1]["content"][0]
    assert {**block, "content": ""} == result("t1", "", is_error=True)
    assert block["content"].startswith("HEAD 0123456789abcdef\n")
    assert block["content"].endswith("abcdef\nexit code 3")
    assert "characters of this tool result are left out" in block["content"]
    assert turn.messages[-2] is messages[1]
    assert turn.buffer == messages


def test_a_giant_result_further_back_stops_the_session(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The conversation goes on: this turn is sent without the giant and its call, the next with a summary."""
    host = make_host(window=500_000, model="claude-test")
    messages = [
        user("dump it all"),
        assistant(call("t1")),
        user(result("t1", GIANT, is_error=True)),
        assistant("big"),
        user("so?"),
    ]
    turn = host.prepare(messages)
    assert turn.report.action is Action.DEGRADE
    assert turn.report.sent < turn.report.soft
    assert turn.messages[-1] is messages[-1]
    assert "t1" not in str(turn.messages[1:])
    host.flush()
    assert work_once(worker_store) is not None
    after = host.prepare(turn.buffer)
    assert after.report.reason is Reason.RECORD_READY
    assert after.report.enough
    assert "exit code 3" in after.buffer[0]["content"]
