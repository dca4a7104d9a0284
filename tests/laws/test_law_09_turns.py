"""Law 9 in whole turns: what a swap makes of the request, whether it was enough, and that nothing goes round
in circles."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ebbtide import Action, Policy, Pool, Reason, Turn, UnfittableRequest
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.store.client import SyncStore
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.host.talk import chat, reading, said

WINDOW = 4_000

policies = st.builds(
    lambda ratio, between, keep: Policy(
        **{
            **SMALL.model_dump(),
            "swap_ratio": ratio,
            "min_turns_between_swaps": between,
            "keep_recent_tokens": keep,
        }
    ),
    st.sampled_from([0.70, 0.85, 0.95]),
    st.sampled_from([0, 3]),
    st.sampled_from([100, 800, 2_000, None]),
)
sizes = st.lists(st.sampled_from([40, 90, 90, 90, 300, 900, 0]), min_size=10, max_size=30)


def broken(turns: list[Turn], policy: Policy, least: int) -> list[str]:
    """Return each swap that saved too little, was called enough when it was not, or came too soon."""
    faults, swaps = [], list[Turn]()
    for turn in turns:
        report = turn.report
        if report.action is not Action.SWAP or report.reason is Reason.REAPPLIED or turn.swap is None:
            continue
        if report.sent > 0.9 * report.projected:
            faults.append(f"turn {report.turn}: {report.sent} of {report.projected} tokens are left")
        if report.enough != (report.sent < report.soft):
            faults.append(f"turn {report.turn}: {report.sent} tokens called enough: {report.enough}")
        swaps.append(turn)
    for before, after in pairwise(swaps):
        faults += _too_soon(before, after, policy, least)
    return faults


def _too_soon(before: Turn, after: Turn, policy: Policy, least: int) -> list[str]:
    assert before.swap is not None
    assert after.swap is not None
    faults, name = [], f"turn {after.report.turn}"
    if after.swap.position.count <= before.swap.position.count:
        faults.append(f"{name}: swapped back to {after.swap.position}")
    if after.swap.record.source_tokens < least:
        faults.append(f"{name}: {after.swap.record.source_tokens} tokens are new")
    between = after.report.turn - before.report.turn
    if between < policy.min_turns_between_swaps and after.report.projected < after.report.hard:
        faults.append(f"{name}: {between} turns after the last swap")
    return faults


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policy=policies, words=sizes, late=st.integers(0, 3))
def test_each_swap_makes_progress(
    server: EmbeddedServer, database: Any, policy: Policy, words: list[int], late: int
) -> None:
    """Whatever is said, however late workers are, whatever the policy: a tenth less, said honestly, with
    something new, and not right after another."""
    store, turns, buffer = SyncStore(server.url, timeout=5.0), list[Turn](), chat(12)
    with Pool(server.url, policy=policy) as pool:
        session = pool.session(tenant="acme", session_id=uuid4().hex, model="gpt-test", context_window=WINDOW)
        for i, count in enumerate(words):
            buffer = [*buffer, *(said(i, count) if count else reading(i, words=300))]
            try:
                turn = session.prepare(buffer)
            except UnfittableRequest as error:
                turn = error.turn
            turns.append(turn)
            buffer = turn.buffer
            assert pool.flush()
            if i % (late + 1) == 0:
                work_once(store)
    store.close()
    assert broken(turns, policy, 400) == []


def test_the_checker_sees_a_swap_that_saves_nothing(server: EmbeddedServer, database: Any) -> None:
    """A real swap, told with the sizes of one that left all there was."""
    store = SyncStore(server.url, timeout=5.0)
    with Pool(server.url, policy=SMALL) as pool:
        session = pool.session(tenant="acme", session_id="c", model="gpt-test", context_window=WINDOW)
        session.prepare(chat(17))
        assert pool.flush()
        work_once(store)
        turn = session.prepare(chat(17))
    store.close()
    assert broken([turn], SMALL, 1) == []
    idle = replace(turn, report=replace(turn.report, sent=turn.report.projected))
    assert broken([idle], SMALL, 1) != []
    assert broken([turn, turn], SMALL, 1) != []
    assert broken([turn, turn], SMALL, 10_000)[1:] != []
