"""Hosts that pass all that was said each turn: a summary once put in stays in, as in a kept buffer."""

from __future__ import annotations

from ebbtide import Action, Reason, SwapProposal, mark
from ebbtide_core import metrics
from ebbtide_core.metrics import MemoryRecorder
from ebbtide_core.store.client import SyncStore
from tests.core.say import system, user
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once, working
from tests.host.shells import SMALL
from tests.host.talk import chat, said

SLOW = SMALL.model_copy(update={"swap_ratio": 0.85, "min_turns_between_swaps": 50})
"""What is swapped before hard is the first record, or one that was put in already."""


def test_a_system_message_that_changes_each_turn_does_not_bring_the_history_back(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """It is outside the lineage: the summary stays, the host is asked once, and what it added stays too."""
    note, asked = user("keep me"), list[int]()

    def answer(proposal: SwapProposal) -> list[object]:
        asked.append(proposal.record.version)
        return [note]

    host, raw = make_host(policy=SLOW, on_swap=answer), chat(20)
    host.prepare([system("it is 9:00"), *raw])
    assert host.flush()
    assert work_once(worker_store) is not None
    host.prepare([system("it is 9:01"), *raw])
    for i in range(20, 23):
        raw = raw + said(i)
        turn = host.prepare([system(f"it is 9:{i}"), *raw])
        assert turn.report.version == 1
        assert turn.messages[0] == system(f"it is 9:{i}")
        assert note in turn.messages
    assert turn.report.reason is Reason.REAPPLIED
    assert asked == [1]


def test_an_ephemeral_message_that_is_replaced_does_not_bring_the_history_back(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Wherever it stands; the newest one is sent."""
    host, raw = make_host(policy=SLOW), chat(24)
    host.prepare(raw)
    assert host.flush()
    assert work_once(worker_store) is not None
    for i in range(24, 27):
        raw = raw + said(i)
        turn = host.prepare([raw[0], mark(user(f"status {i}"), ephemeral=True), *raw[1:]])
        assert turn.report.version == 1
        assert user(f"status {i}") in turn.messages
        assert user(f"status {i - 1}") not in turn.messages


def test_a_summary_made_by_hand_stays_below_soft_and_the_next_goes_on_from_it(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Otherwise a compaction asked for by hand would last for one turn."""
    policy = SMALL.model_copy(update={"keep_recent_tokens": 300})
    host, raw = make_host(window=16_000, policy=policy), chat(20)
    with working(worker_store):
        assert host.compact_now(raw, timeout=20.0).report.action is Action.SWAP
        raw = raw + said(20)
        turn = host.prepare(raw)
        assert (turn.report.action, turn.report.reason) == (Action.SWAP, Reason.REAPPLIED)
        assert turn.report.sent < turn.report.projected < turn.report.soft
        raw += [message for i in range(21, 36) for message in said(i)]
        assert host.compact_now(raw, timeout=20.0).report.version == 2


def test_a_declined_record_leaves_the_last_one_in_though_a_message_was_changed_in_place(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """All is read anew before a new record is put in; the one that is in stays in."""
    words, asked = {"type": "text", "text": "it is 9:00"}, list[int]()

    def answer(proposal: SwapProposal) -> bool:
        asked.append(proposal.record.version)
        return proposal.record.version == 1

    host, raw = make_host(on_swap=answer), [{"role": "system", "content": [words]}, *chat(17)]
    for i in range(17, 60):
        turn = host.prepare(raw)
        if 2 in asked:
            break
        words["text"] = f"it is 9:{i}"
        assert host.flush()
        work_once(worker_store)
        raw = raw + said(i)
    assert asked == [1, 2]
    assert turn.report.version == 1
    assert turn.report.sent < turn.report.projected


def test_a_swap_is_counted_and_told_once(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Putting it into the raw history again is no news; what else the turn does is told."""
    recorder = MemoryRecorder()
    host, raw = make_host(recorder=recorder), chat(17)
    host.prepare(raw)
    assert host.flush()
    assert work_once(worker_store) is not None
    notices, actions = [], []
    for i in range(17, 27):
        turn = host.prepare(raw := raw + said(i))
        assert turn.swap is not None
        assert turn.swap.again == (i > 17)
        notices.append(turn.report.notice)
        actions.append(turn.report.action)
        assert host.flush()
    assert recorder.total(metrics.SWAPS) == 1
    assert notices == ["The earlier conversation now stands as summary 1.", *[""] * 9]
    assert Action.ENQUEUE in actions
