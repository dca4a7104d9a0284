"""A ready record that would leave the request at hard: a farther one is waited for first."""

from __future__ import annotations

import pytest

from ebbtide import Action, Reason, UnfittableRequest
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once, working
from tests.host.shells import SMALL, Shell
from tests.host.talk import chat, said

LATE = SMALL.model_copy(update={"swap_ratio": 0.95, "keep_recent_tokens": 300})


def stale(host: Shell, store: SyncStore) -> list[object]:
    """A buffer far beyond hard, for which a record is ready that stands for its first messages only."""
    host.prepare(chat(17))
    assert host.flush()
    assert work_once(store) is not None
    return [*chat(17), *(m for i in range(17, 45) for m in said(i))]


def test_the_farther_record_is_the_one_that_is_swapped_in(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """One swap instead of two, and no degraded view."""
    host = make_host(policy=LATE.model_copy(update={"wait_budget": 20.0}))
    messages = stale(host, worker_store)
    with working(worker_store):
        turn = host.prepare(messages)
    assert turn.report.action is Action.SWAP
    assert turn.report.version == 2
    assert turn.report.sent < turn.report.soft
    assert turn.report.waited > 0


def test_a_turn_that_fits_no_window_swaps_nothing(make_host: MakeHost, worker_store: SyncStore) -> None:
    """It changes nothing at all; the next turn that can be sent swaps once, and farther."""
    host = make_host(policy=LATE)
    stale(host, worker_store)
    messages = [*chat(17), {"role": "user", "content": "word " * 5_000}]
    with pytest.raises(UnfittableRequest) as raised:
        host.prepare(messages)
    turn = raised.value.turn
    assert turn.swap is None
    assert turn.buffer == messages
    assert turn.report.version == 0
    assert raised.value.smallest <= raised.value.projected
    longer = [*chat(17), *(m for i in range(17, 22) for m in said(i))]
    assert host.prepare(longer).report.version == 1


def test_without_a_farther_one_in_time_the_ready_one_is_swapped_in(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """What it takes off is off; the rest is left out of the view, and the job goes on."""
    host = make_host(policy=LATE.model_copy(update={"wait_budget": 0.1}))
    turn = host.prepare(stale(host, worker_store))
    assert (turn.report.action, turn.report.reason) == (Action.DEGRADE, Reason.NOT_ENOUGH)
    assert turn.report.version == 1
    assert turn.swap is not None
    assert turn.report.sent < turn.report.soft
    assert not turn.report.enough
    assert host.flush()
    assert work_once(worker_store) is not None
