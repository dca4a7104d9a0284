"""What a turn costs the state store: round trips by script, and bytes. None of it grows with the buffer."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide import Policy
from ebbtide_core.decide import Action, Reason
from ebbtide_core.jsonio import pack
from ebbtide_core.policy import Mode
from ebbtide_core.store.client import SyncStore
from tests.costs.counting import Spent, spending
from tests.host.conftest import MakeHost, make_host, worker_store
from tests.host.publisher import work_once
from tests.host.shells import Shell
from tests.host.talk import chat, said

__all__ = ["make_host", "worker_store"]

MOST_OUT = 215
MOST_IN = 130
"""Bytes of one asking and its answer, with short names and no record yet."""

CLAIMED = 130
HEADER = 130
"""Bytes that a claim and a record's header add to the answer."""


def spent_by(host: Shell, messages: list[Any]) -> tuple[Spent, Any]:
    """Return what the next turn spends, and the turn."""
    with spending(host.stats) as spent:
        turn = host.prepare(messages)
    return spent, turn


@pytest.mark.parametrize("rounds", [1, 500])
def test_a_turn_below_soft_is_one_round_trip_of_few_bytes(make_host: MakeHost, rounds: int) -> None:
    """The same for three messages and for a thousand."""
    host = make_host(window=1_000_000)
    host.prepare(chat(rounds))
    spent, turn = spent_by(host, chat(rounds) + said(rounds))
    assert turn.report.reason is Reason.BELOW_SOFT
    assert spent.trips == {"turn": 1}
    assert 0 < spent.bytes_out <= MOST_OUT
    assert 0 < spent.bytes_in <= MOST_IN


def test_a_turn_that_enqueues_or_finds_a_compaction_under_way_is_one_round_trip(make_host: MakeHost) -> None:
    """Claim, upload and enqueue go by the background's own client."""
    host, messages = make_host(), chat(20)
    host.prepare(chat(2))
    spent, turn = spent_by(host, messages)
    assert turn.report.action is Action.ENQUEUE
    assert spent.trips == {"turn": 1}
    host.flush()
    spent, turn = spent_by(host, messages + said(20))
    assert turn.report.reason is Reason.JOB_PENDING
    assert spent.trips == {"turn": 1}
    assert spent.bytes_out <= MOST_OUT
    assert spent.bytes_in <= MOST_IN + CLAIMED


def test_a_swap_is_one_more_round_trip_which_brings_the_record(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Once: a record that was fetched is put in again without asking."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    assert work_once(worker_store) is not None
    spent, turn = spent_by(host, messages)
    assert turn.report.action is Action.SWAP
    assert spent.trips == {"turn": 1, "get": 1}
    record = len(pack(turn.swap.record.to_json()))
    assert spent.bytes_in <= MOST_IN + HEADER + record + 20
    spent, turn = spent_by(host, messages + said(20))
    assert turn.report.reason is Reason.REAPPLIED
    assert spent.trips == {"turn": 1}
    assert spent.bytes_in <= MOST_IN + HEADER


def test_a_degraded_turn_that_need_not_wait_is_one_round_trip(make_host: MakeHost) -> None:
    """The smaller view is made by the host alone."""
    host = make_host()
    host.prepare(chat(2))
    spent, turn = spent_by(host, chat(60))
    assert turn.report.degraded
    assert spent.trips == {"turn": 1}


def test_an_edited_history_costs_a_fork(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The host asks, tells that the history changed, and asks again."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    assert work_once(worker_store) is not None
    host.prepare(messages)
    edited = [{"role": "user", "content": "another request"}, *messages[1:]]
    host.prepare(edited)
    host.flush()
    spent, _ = spent_by(host, [{"role": "user", "content": "a third request"}, *messages[1:]])
    assert spent.trips == {"turn": 2, "fork": 1}


def test_a_session_that_is_off_asks_nothing(make_host: MakeHost) -> None:
    """It is only measured."""
    host = make_host(policy=Policy(mode=Mode.OFF))
    host.prepare(chat(2))
    spent, turn = spent_by(host, chat(20))
    assert turn.report.reason is Reason.MODE_OFF
    assert not spent.trips
