"""What is sent stays the same from turn to turn while it can, so that the provider's cache holds."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ebbtide import Action, UnfittableRequest, mark
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.talk import chat, reading, said, tool_round


def test_a_degraded_view_goes_out_again_with_what_was_said_since(make_host: MakeHost) -> None:
    """The same bytes first, whether the host passes its objects or copies; then the new messages."""
    host, messages = make_host(), chat(60)
    before = host.prepare(messages)
    kept = 0
    for i in range(60, 70):
        messages = copy.deepcopy(messages) + said(i)
        turn = host.prepare(messages)
        assert turn.report.degraded
        assert turn.report.sent < turn.report.hard
        kept += turn.messages == before.messages + said(i)
        before = turn
    assert kept >= 4


def test_a_view_kept_is_not_given_up_for_a_result_that_is_superseded_since(make_host: MakeHost) -> None:
    """It fits as it is; leaving one more result out would cost the cache all of it."""
    host, messages = make_host(window=12_000), [*chat(70, 120), *reading(0, words=150)]
    before = host.prepare(messages)
    assert before.report.degraded
    for i in range(1, 4):
        messages = messages + reading(i, words=150)
        turn = host.prepare(messages)
        assert turn.report.degraded
        assert turn.messages == before.messages + reading(i, words=150)
        before = turn


def test_a_view_kept_ends_when_its_record_comes(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The record stands for all that the view left out."""
    host, messages = make_host(), chat(60)
    host.prepare(messages)
    assert host.flush()
    assert work_once(worker_store) is not None
    turn = host.prepare(messages + said(60))
    assert turn.report.action is Action.SWAP
    assert not turn.report.omitted


def test_a_view_kept_never_parts_a_call_and_its_result(make_host: MakeHost) -> None:
    """A late result ties all that lies between it and its call together: the view that left the call out
    ends."""
    host = make_host(model="claude-haiku-4-5")
    call = {"type": "tool_use", "id": "late", "name": "bash", "input": {"command": "sleep"}}
    begun: list[Any] = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [call]}]
    messages = [*begun, *(m for i in range(60) for m in tool_round(i))]
    assert host.prepare(messages).report.degraded
    late = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "late", "content": "done"}]}
    with pytest.raises(UnfittableRequest) as raised:
        host.prepare([*messages, late])
    assert raised.value.turn.messages == [*messages, late]


def test_the_cache_mark_belongs_on_the_last_message_that_stays(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """What the next request begins with, in each kind of turn; ephemeral messages at the end may be gone."""
    host, status = make_host(), mark({"role": "user", "content": "12:00"}, ephemeral=True)
    messages = chat(3)
    for name in ("keep", "degrade", "swap"):
        turn = host.prepare([*messages, status])
        assert turn.report.action == name
        assert turn.cache_hint == len(turn.messages) - 2
        messages = [m for m in turn.buffer if m is not status]
        again = host.prepare([*messages, *said(99), status])
        assert again.messages[: turn.cache_hint + 1] == turn.messages[: turn.cache_hint + 1]
        if name == "keep":
            messages = chat(60)
        else:
            assert host.flush()
            work_once(worker_store)
    assert host.prepare([]).cache_hint is None
    assert host.prepare([status]).cache_hint is None
