"""A host is asked before a swap takes effect: it may agree, decline, or keep messages behind the summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from ebbtide import Action, AsyncPool, Reason, SwapProposal
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.economy.rates import Rates
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import WINDOW, MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL
from tests.host.talk import REQUEST, chat, said


def asked(
    make_host: MakeHost, store: SyncStore, answer: Callable[[SwapProposal], Any], rounds: int = 17
) -> tuple[Any, list[Any]]:
    """A host with that callback, and a buffer for which a record is ready."""
    host, buffer = make_host(on_swap=answer), chat(rounds)
    host.prepare(buffer)
    assert host.flush()
    assert work_once(store) is not None
    return host, buffer


@pytest.mark.parametrize("answer", [None, True])
def test_the_proposal_says_what_would_go_and_what_it_saves(
    make_host: MakeHost, worker_store: SyncStore, answer: Any
) -> None:
    """The host sees the messages, the summary message and both sizes before anything is changed."""
    seen: list[SwapProposal] = []

    def agree(proposal: SwapProposal) -> Any:
        seen.append(proposal)
        return answer

    host, buffer = asked(make_host, worker_store, agree)
    turn = host.prepare(buffer)
    (proposal,) = seen
    assert turn.swap is not None
    assert list(proposal.removed) == buffer[: turn.swap.removed]
    assert proposal.summary_message == turn.swap.summary_message
    assert (proposal.before, proposal.after) == (turn.report.projected, turn.report.sent)
    assert proposal.record == turn.swap.record


def test_declined_below_hard_the_buffer_stays_and_no_other_record_is_asked_for(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """The record stays ready: the host is asked again next turn."""
    answers = [False, False, True]
    host, buffer = asked(make_host, worker_store, lambda _: answers.pop(0))
    for _ in range(2):
        turn = host.prepare(buffer)
        assert (turn.report.action, turn.report.reason) == (Action.KEEP, Reason.SWAP_DECLINED)
        assert turn.buffer == buffer
        assert host.flush()
        assert work_once(worker_store) is None
    assert host.prepare(buffer).report.action is Action.SWAP


def test_declined_at_hard_the_view_is_degraded(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Declining is no reason to send what the provider rejects."""
    host, buffer = asked(make_host, worker_store, lambda _: False)
    turn = host.prepare([*buffer, *(m for i in range(17, 30) for m in said(i))])
    assert (turn.report.action, turn.report.reason) == (Action.DEGRADE, Reason.SWAP_DECLINED)
    assert turn.report.waited == 0.0


def test_declined_no_older_record_is_offered(make_host: MakeHost, worker_store: SyncStore) -> None:
    """One question a turn, about the farthest record."""
    asked_for: list[int] = []

    def decline(proposal: SwapProposal) -> bool:
        asked_for.append(proposal.record.version)
        return False

    rates = Rates(input=1.0, output=1.0, cache_write=1.0, cache_read=0.0)
    policy = SMALL.model_copy(update={"swap_ratio": 0.95, "rates": rates, "min_new_tokens": 200})
    host, buffer, made = make_host(on_swap=decline, policy=policy), chat(15), 0
    for i in range(15, 60):
        turn = host.prepare(buffer := [*buffer, *said(i)])
        if turn.report.projected >= turn.report.hard:
            break
        assert host.flush()
        made += work_once(worker_store) is not None
    assert made > 1
    assert asked_for == [made]


def test_added_messages_stand_behind_the_summary_and_stay(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """They are no part of the history: the next record applies as if they were not there."""
    note = {"role": "user", "content": "The deploy freeze ends on Friday."}
    host, buffer = asked(make_host, worker_store, lambda p: [note] if p.record.version == 1 else None)
    turn = host.prepare(buffer)
    assert turn.messages[1] == note
    assert turn.swap is not None
    assert turn.messages[2:] == buffer[turn.swap.removed :]
    buffer = turn.buffer
    for i in range(17, 40):
        turn = host.prepare(buffer := [*buffer, *said(i)])
        buffer = turn.buffer
        assert host.flush()
        work_once(worker_store)
        if turn.report.version == 2:
            break
    assert turn.report.version == 2
    assert turn.report.faults == ()
    assert note in turn.messages


def test_messages_of_a_providers_sdk_are_added_in_plain_json(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """They go through their own dump, as all that a host passes."""

    class Note(BaseModel):
        role: str = "user"
        content: str = "keep me"

    host, buffer = asked(make_host, worker_store, lambda _: [Note()])
    assert host.prepare(buffer).messages[1] == {"role": "user", "content": "keep me"}


def test_a_raw_history_is_asked_about_once(make_host: MakeHost, worker_store: SyncStore) -> None:
    """A record once put in is put in again without asking, with what the host added."""
    note = {"role": "user", "content": "keep me"}
    times: list[int] = []

    def answer(proposal: SwapProposal) -> Any:
        times.append(proposal.record.version)
        return [note]

    host, raw = asked(make_host, worker_store, answer)
    for i in range(17, 20):
        turn = host.prepare(raw)
        assert turn.messages[1] == note
        raw = raw + said(i)
    assert times == [1]


@pytest.mark.parametrize(
    "answer",
    [
        5,
        "yes",
        [{"role": "tool", "tool_call_id": "c", "content": "r"}],
        [{"role": "system", "content": "s"}],
        [{"role": "user"}] * 101,
        [3],
    ],
)
def test_an_answer_that_is_none_declines_and_is_told(
    make_host: MakeHost, worker_store: SyncStore, answer: Any
) -> None:
    """Nothing is guessed, and the turn goes on."""
    host, buffer = asked(make_host, worker_store, lambda _: answer)
    turn = host.prepare(buffer)
    assert turn.buffer == buffer
    assert turn.report.reason is Reason.SWAP_DECLINED
    assert any("on_swap" in fault or "message 0" in fault for fault in turn.report.faults)


def test_a_callback_that_fails_declines(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Its error never reaches the host's loop; the report names its kind, not its words."""

    def broken(_: SwapProposal) -> Any:
        raise RuntimeError("secret words")

    host, buffer = asked(make_host, worker_store, broken)
    turn = host.prepare(buffer)
    assert turn.report.reason is Reason.SWAP_DECLINED
    assert turn.report.faults == ("on_swap: it failed with RuntimeError",)


def test_what_would_undo_the_saving_is_not_swapped(make_host: MakeHost, worker_store: SyncStore) -> None:
    """Added messages count: a swap leaves the request at least a tenth smaller."""
    note = {"role": "user", "content": "word " * 2_000}
    host, buffer = asked(make_host, worker_store, lambda _: [note])
    turn = host.prepare(buffer)
    assert turn.swap is None
    assert turn.buffer == buffer
    assert turn.report.reason is Reason.SWAP_DECLINED
    assert turn.report.faults == ("on_swap: what it added would leave the request not a tenth smaller",)


async def test_an_async_session_awaits_the_answer(server: EmbeddedServer, worker_store: SyncStore) -> None:
    """The callback may be a coroutine function."""
    seen: list[int] = []

    async def answer(proposal: SwapProposal) -> bool:
        seen.append(proposal.record.version)
        return True

    async with AsyncPool(server.url, policy=SMALL) as pool:
        session = pool.session(
            tenant="acme", session_id="chat", model="gpt-test", context_window=WINDOW, on_swap=answer
        )
        await session.prepare(chat(17))
        assert await pool.flush()
        assert work_once(worker_store) is not None
        turn = await session.prepare(chat(17))
    assert turn.report.action is Action.SWAP
    assert seen == [1]
    assert REQUEST in str(turn.messages)
