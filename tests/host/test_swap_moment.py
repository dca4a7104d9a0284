"""When a record that is ready is swapped in: the swap policy, and the time since the last swap."""

from __future__ import annotations

from typing import Any

from ebbtide import Action, Reason
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL, Shell
from tests.host.talk import chat, said

PATIENT = SMALL.model_copy(update={"swap_ratio": 0.85})
"""Swaps as late as the swap policy says."""


def ready(host: Shell, store: SyncStore, rounds: int = 17) -> list[Any]:
    """Have a record made, and return the buffer that it applies to."""
    buffer = chat(rounds)
    assert host.prepare(buffer).report.action is Action.ENQUEUE
    assert host.flush()
    assert work_once(store) is not None
    return buffer


def test_a_record_waits_while_the_cache_is_warm_and_is_swapped_from_swap_ratio_on(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Cached reads are cheap for a while; from 85 % of the window on nothing waits any longer."""
    host = make_host(policy=PATIENT)
    buffer = ready(host, worker_store)
    waited = 0
    for i in range(17, 40):
        buffer = [*buffer, *said(i)]
        turn = host.prepare(buffer)
        if turn.report.action is Action.SWAP:
            break
        assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.SWAP_LATER)
        assert turn.buffer == buffer
        waited += 1
    assert waited >= 1
    assert turn.report.reason is Reason.RECORD_READY
    assert turn.report.projected <= 0.87 * turn.report.context_window


def test_swaps_keep_their_distance_below_hard(make_host: MakeHost, worker_store: SyncStore) -> None:
    """A record that is ready right after a swap waits `min_turns_between_swaps` turns."""
    policy = SMALL.model_copy(update={"min_turns_between_swaps": 4, "keep_recent_tokens": 1_500})
    host = make_host(policy=policy)
    buffer, swapped = ready(host, worker_store), list[int]()
    for i in range(17, 70):
        turn = host.prepare(buffer := [*buffer, *said(i)])
        buffer = turn.buffer
        if turn.report.action is Action.SWAP:
            swapped.append(turn.report.turn)
            assert not swapped[:-1] or turn.report.turn - swapped[-2] >= 4
        assert host.flush()
        work_once(worker_store)
    assert len(swapped) >= 3


def test_at_hard_a_ready_record_is_swapped_whatever_the_distance(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A turn that would be degraded for the sake of the cache would be a poor bargain."""
    host = make_host(policy=SMALL.model_copy(update={"min_turns_between_swaps": 50}))
    buffer = ready(host, worker_store)
    buffer = host.prepare([*buffer, *said(17)]).buffer
    for i in range(18, 60):
        turn = host.prepare(buffer := [*buffer, *said(i)])
        buffer = turn.buffer
        assert not turn.report.degraded
        assert host.flush()
        work_once(worker_store)
        if turn.report.action is Action.SWAP:
            break
    assert turn.report.projected >= turn.report.hard
