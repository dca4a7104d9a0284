"""Superseded tool results left out of the requests: when, for how long, and what the report says."""

from __future__ import annotations

import itertools
from typing import Any

from ebbtide import Action, Policy, Reason
from ebbtide_core.names import Owner
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.host.talk import REQUEST, chat, reading, said
from tests.store.clock import Database

WINDOW = 12_000
"""Soft is 8,400, the output 3,000: six readings of a file are more, five are less."""


def readings(count: int) -> list[dict[str, Any]]:
    """A request, and the same file read a number of times."""
    return [{"role": "user", "content": REQUEST}, *(m for i in range(count) for m in reading(i))]


def results(messages: list[Any]) -> list[str]:
    """The texts of the tool results."""
    return [m["content"] for m in messages if m["role"] == "tool"]


def test_one_batch_brings_the_request_below_soft_and_no_job_is_asked_for(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """All but the newest reading become a placeholder; calls, ids, the buffer and the newest one stay."""
    host, buffer = make_host(window=WINDOW), readings(6)
    turn = host.prepare(buffer)
    assert (turn.report.action, turn.report.reason) == (Action.PRUNE, Reason.SUPERSEDED)
    assert not turn.report.degraded
    assert turn.report.projected >= turn.report.soft > turn.report.sent
    assert turn.buffer == buffer
    sent = results(turn.messages)
    assert all(text.startswith("[result superseded; see turn ") for text in sent[:-1])
    assert sent[-1] == results(buffer)[-1]
    assert [m.get("tool_calls") for m in turn.messages] == [m.get("tool_calls") for m in buffer]
    assert sum(span.messages for span in turn.report.superseded) == 5
    assert host.flush()
    assert work_once(worker_store) is None


def test_what_is_left_out_stays_out_in_the_same_words(make_host: MakeHost) -> None:
    """The bytes sent before are sent again, though a newer reading supersedes the one that was the newest."""
    host, buffer = make_host(window=WINDOW), readings(6)
    first = host.prepare(buffer)
    buffer = [*first.buffer, *reading(6, words=100)]
    second = host.prepare(buffer)
    assert second.report.action is Action.KEEP
    assert second.messages[: len(first.messages)] == first.messages
    assert second.report.superseded == first.report.superseded


def test_there_is_one_batch_for_each_summary(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The next time a record is asked for; behind its summary a batch may be taken again."""
    host, buffer = make_host(window=WINDOW), readings(6)
    buffer = host.prepare(buffer).buffer
    actions = []
    for i in range(6, 30):
        turn = host.prepare(buffer := [*buffer, *reading(i)])
        buffer = turn.buffer
        actions.append(turn.report.action)
        assert host.flush()
        work_once(worker_store)
    steps = [action for action in actions if action is not Action.KEEP]
    assert steps[:3] == [Action.ENQUEUE, Action.SWAP, Action.PRUNE]
    assert all(a is not b or a is not Action.PRUNE for a, b in itertools.pairwise(steps))


def test_a_jump_over_hard_is_pruned_before_anybody_waits(make_host: MakeHost) -> None:
    """The turn goes on below hard, and asks for a record in time."""
    host = make_host(window=WINDOW, policy=SMALL.model_copy(update={"wait_budget": 30.0}))
    turn = host.prepare([*readings(8), *said(1, 5_200)])
    assert turn.report.projected >= turn.report.hard > turn.report.sent
    assert turn.report.waited == 0.0
    assert turn.report.action is Action.ENQUEUE
    assert not turn.report.degraded
    assert turn.report.superseded


def test_a_batch_that_saves_little_is_not_taken(make_host: MakeHost) -> None:
    """The cache behind it would be lost for less than `prune_min_tokens`."""
    policy = SMALL.model_copy(update={"prune_min_tokens": 5_000})
    assert make_host(window=WINDOW, policy=policy).prepare(readings(6)).report.action is Action.ENQUEUE


def test_rules_of_the_policy_decide_what_is_superseded(make_host: MakeHost) -> None:
    """No rules, no pruning."""
    policy = Policy(**{**SMALL.model_dump(), "superseding": {}})
    assert make_host(window=WINDOW, policy=policy).prepare(readings(6)).report.action is Action.ENQUEUE


def test_a_degraded_view_leaves_superseded_results_out_first(make_host: MakeHost) -> None:
    """Nothing else is shortened more than it must be."""
    host = make_host(window=WINDOW)
    turn = host.prepare([*readings(8), *chat(24, 300)])
    assert turn.report.degraded
    assert turn.report.superseded
    assert turn.report.sent < turn.report.hard


def test_a_host_that_goes_back_gets_the_result_that_nothing_supersedes_any_more(make_host: MakeHost) -> None:
    """A placeholder that names a turn which was never said would leave the model with neither."""
    host, buffer = make_host(window=WINDOW), readings(6)
    assert host.prepare(buffer).report.action is Action.PRUNE
    turn = host.prepare([*buffer[:5], *said(1)])
    assert turn.messages == [*buffer[:5], *said(1)]
    assert turn.report.superseded == ()


def test_a_session_that_is_not_on_any_more_leaves_nothing_out(
    make_host: MakeHost, database: Database
) -> None:
    """Modes change at run time."""
    host, buffer = make_host(window=WINDOW), readings(6)
    assert host.prepare(buffer).report.action is Action.PRUNE
    database.hset(Owner.of("acme", "chat").state, "mode", "off")
    turn = host.prepare(buffer)
    assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.MODE_OFF)
    assert turn.messages == buffer
    assert turn.report.sent == turn.report.projected
