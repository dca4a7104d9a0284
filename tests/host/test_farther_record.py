"""A record that waits for its moment: fetched once, and made anew while the session grows."""

from __future__ import annotations

from ebbtide import Action, Reason
from ebbtide_core.economy.rates import Rates
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.host.talk import chat, said

FREE_READS = Rates(input=1.0, output=1.0, cache_write=1.0, cache_read=0.0)
PATIENT = SMALL.model_copy(update={"swap_ratio": 0.95, "rates": FREE_READS})
"""No swap pays before hard."""


def test_a_farther_record_is_asked_for_and_the_farthest_is_swapped_in(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """While a record waits, another is made as soon as enough is new behind it; at hard no turn waits."""
    host = make_host(policy=PATIENT)
    buffer, records = chat(17), 0
    turn = host.prepare(buffer)
    for i in range(17, 60):
        assert host.flush()
        records += work_once(worker_store) is not None
        buffer = [*turn.buffer, *said(i)]
        turn = host.prepare(buffer)
        if turn.swap is not None:
            break
    assert turn.swap is not None
    assert turn.report.projected >= turn.report.hard
    assert turn.report.waited == 0
    assert turn.swap.version == records > 1


def test_a_record_that_waits_is_fetched_once(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The turn after the one that fetched it costs one round trip, as any other."""
    host = make_host(policy=PATIENT)
    buffer = chat(17)
    assert host.prepare(buffer).report.action is Action.ENQUEUE
    assert host.flush()
    assert work_once(worker_store) is not None
    costs = []
    for _ in range(2):
        before = host.stats.commands
        assert host.prepare(buffer).report.reason is Reason.SWAP_LATER
        costs.append(host.stats.commands - before)
    assert costs == [2, 1]
