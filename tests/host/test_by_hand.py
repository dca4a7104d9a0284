"""What a host does by hand: compact now, cancel, branch, go on with another model or window."""

from __future__ import annotations

import pytest

from ebbtide import Action, InputError, LimitError, Mode, Policy, Reason
from ebbtide_core.breaker import Outcome
from ebbtide_core.contract.job import Urgency
from ebbtide_core.names import Owner
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import guarded, manifest_of, settle, take, work_once, working
from tests.host.shells import SMALL
from tests.host.talk import chat, said

SMALL_TAIL = SMALL.model_copy(update={"keep_recent_tokens": 300})


def test_compact_now_swaps_below_soft(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The size of the request does not matter; the record is made, waited for and put in."""
    host, messages = make_host(window=16_000, policy=SMALL_TAIL), chat(20)
    with working(worker_store):
        turn = host.compact_now(messages, timeout=20.0)
    assert turn.report.projected < turn.report.soft
    assert (turn.report.action, turn.report.reason) == (Action.SWAP, Reason.BY_HAND)
    assert turn.swap is not None
    assert turn.report.sent <= 0.9 * turn.report.projected
    assert host.prepare(turn.buffer + said(20)).report.action is Action.KEEP


def test_instructions_reach_the_worker(make_host: MakeHost, worker_store: SyncStore) -> None:
    """They are part of the job's policy, and of its name."""
    host, messages = make_host(policy=SMALL_TAIL), chat(12)
    plain = host.compact_now(messages, timeout=0.0)
    assert plain.report.reason is Reason.NO_RECORD_IN_TIME
    assert plain.messages == messages
    assert host.flush()
    first = take(worker_store)
    assert first is not None
    settle(worker_store, first, Outcome.NEUTRAL)
    host.compact_now(messages, instructions="Keep every port number.", timeout=0.0)
    assert host.flush()
    second = take(worker_store)
    assert second is not None
    assert manifest_of(worker_store, first).policy.instructions == ""
    assert manifest_of(worker_store, second).policy.instructions == "Keep every port number."
    assert first.job_id != second.job_id


def test_compact_now_takes_a_record_that_is_ready(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Nothing is waited for, and the swap policy is not asked."""
    host = make_host(policy=SMALL.model_copy(update={"swap_ratio": 0.95}))
    host.prepare(chat(17))
    assert host.flush()
    assert work_once(worker_store) is not None
    turn = host.compact_now(chat(17), timeout=20.0)
    assert turn.report.action is Action.SWAP
    assert turn.report.waited == 0.0


@pytest.mark.parametrize("rounds", [0, 2])
def test_a_short_conversation_has_nothing_to_compact(make_host: MakeHost, rounds: int) -> None:
    """It comes back as it is, and the report says why."""
    turn = make_host().compact_now(chat(rounds), timeout=20.0)
    assert turn.buffer == chat(rounds)
    assert turn.report.action is Action.KEEP
    assert turn.report.reason in (Reason.NOTHING_TO_CUT, Reason.TOO_LITTLE_NEW)


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.SHADOW])
def test_a_session_that_may_not_swap_does_not_by_hand(make_host: MakeHost, mode: Mode) -> None:
    """The mode goes before."""
    policy = Policy(**{**SMALL_TAIL.model_dump(), "mode": mode})
    turn = make_host(policy=policy).compact_now(chat(12), timeout=20.0)
    assert turn.report.action is Action.KEEP


def test_wrong_arguments_are_named(make_host: MakeHost) -> None:
    """Before anything is done."""
    host = make_host()
    with pytest.raises(LimitError, match="instructions: 4001 characters, at most 4000"):
        host.compact_now(chat(1), instructions="x" * 4_001)
    for timeout in (-1.0, True, None, "5"):
        with pytest.raises(InputError, match="timeout: must be seconds"):
            host.compact_now(chat(1), timeout=timeout)


def test_a_compaction_by_hand_is_urgent_though_nobody_waits_for_it(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A job that goes on behind the turn's back goes before others of its tenant too."""
    host = make_host(policy=SMALL_TAIL)
    assert host.compact_now(chat(12), timeout=0.0).report.waited == 0.0
    assert host.flush()
    job = take(worker_store)
    assert job is not None
    assert job.urgency is Urgency.HI


def test_cancel_ends_what_is_under_way(make_host: MakeHost, worker_store: SyncStore) -> None:
    """The queued job is gone and the session may ask again at once; there is nothing to cancel twice."""
    host, messages = make_host(), chat(17)
    assert host.prepare(messages).report.action is Action.ENQUEUE
    assert host.cancel()
    assert take(worker_store) is None
    assert not host.cancel()
    assert host.prepare(messages).report.action is Action.ENQUEUE


def test_a_worker_hears_that_its_job_was_cancelled(make_host: MakeHost, worker_store: SyncStore) -> None:
    """At its next check; the breaker hears of no failure."""
    host, messages = make_host(), chat(17)
    host.prepare(messages)
    assert host.flush()
    job = take(worker_store)
    assert job is not None
    assert guarded(worker_store, job) == "go"
    assert host.cancel()
    assert guarded(worker_store, job) == "replaced"
    assert not settle(worker_store, job, Outcome.FAILURE)


def test_a_fork_goes_on_from_the_buffer_and_leaves_its_origin_alone(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """The summary message is good in both; each asks for records of its own."""
    host = make_host()
    host.prepare(chat(17))
    assert host.flush()
    assert work_once(worker_store) is not None
    kept = host.prepare(chat(17)).buffer
    branch = host.fork("branch")
    grown = [*kept, *(m for i in range(17, 26) for m in said(i))]
    turn = branch.prepare(grown)
    assert turn.report.version == 1
    assert turn.report.action is Action.ENQUEUE
    assert branch.flush()
    job = take(worker_store)
    assert job is not None
    assert job.owner == Owner.of("acme", "branch")
    assert host.prepare([*kept, *said(17)]).report.faults == ()
    with pytest.raises(InputError, match="session id of its own"):
        host.fork("chat")


def test_another_window_counts_from_the_next_turn_on(make_host: MakeHost) -> None:
    """A smaller one may put the session over its watermarks at once, a larger one below them."""
    host, messages = make_host(window=16_000), chat(22)
    assert host.prepare(messages).report.reason is Reason.BELOW_SOFT
    host.switch(context_window=4_000)
    small = host.prepare(messages)
    assert small.report.context_window == 4_000
    assert small.report.action is not Action.KEEP
    host.switch(context_window=64_000)
    assert host.prepare(messages).report.reason is Reason.BELOW_SOFT


def test_another_model_forgets_what_was_learnt_of_the_last_ones_tokens(make_host: MakeHost) -> None:
    """The ratio of one model says nothing of another's; each model's own is kept in the state."""
    host, messages = make_host(window=4_000), chat(20)
    plain = host.prepare(messages).report
    host.observe({"prompt_tokens": 2 * (plain.sent - 1_000), "completion_tokens": 1})
    raised = host.prepare(messages).report
    assert raised.projected > plain.projected
    host.switch(model="gpt-other")
    assert host.prepare(messages).report.projected == plain.projected
    host.switch(model="gpt-test")
    assert host.prepare(messages).report.projected >= raised.projected


def test_a_model_of_another_format_needs_a_session_of_its_own(make_host: MakeHost) -> None:
    """Messages would have to be translated; nothing changes."""
    host = make_host()
    with pytest.raises(InputError, match="claude-test speaks anthropic, this session openai"):
        host.switch(model="claude-test")
    assert host.prepare(chat(1)).report.action is Action.KEEP
