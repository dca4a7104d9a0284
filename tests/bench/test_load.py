"""The benchmark of the load runs, and finds what went wrong. No figure of time is looked at."""

from __future__ import annotations

import pytest
from bench.load.life import Life, Plan

from bench import load
from ebbtide import Policy, Pool
from ebbtide_cli.embedded import EmbeddedServer


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_a_quick_run_tells_of_each_process_and_loses_nothing() -> None:
    """Each session has its versions, each job its end, each message its place."""
    result = load.run(quick=True)
    assert [row[0] for row in result.rows] == [
        "hosts, all", "worker 1", "worker 2", "state store", "broker", "stand-in",
    ]  # fmt: skip
    lost, wrong, stale, claims = result.goals[:4]
    assert not lost.measured.endswith(" 0"), "jobs were made"
    assert all(goal.met for goal in (lost, wrong, stale, claims)), result.goals


def test_a_message_that_is_gone_is_noticed() -> None:
    """The check of the buffer can fail."""
    life = Life("one", Plan(100_000, 5, 1.0, 20))
    life.answer(0)
    with EmbeddedServer() as server, Pool(server.url, policy=Policy()) as pool:
        session = pool.session(
            tenant="t", session_id="one", model="load", dialect="anthropic", context_window=100_000
        )
        life.take(session.prepare(life.buffer))
        assert not life.wrong
        turn = session.prepare([life.buffer[0], *life.buffer[3:]])
    life.take(turn)
    assert life.wrong
