"""What a turn reads and counts anew: only what is new, also for hosts that keep the raw history."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from ebbtide import AsyncPool, mark
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.decide import Action, Reason
from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import SyncStore
from tests.core.say import system, user
from tests.host.conftest import WINDOW, MakeHost
from tests.host.publisher import work_once
from tests.host.shells import SMALL, Shell
from tests.host.talk import chat, said
from tests.reads import asked

__all__ = ["asked"]


def swapped(host: Shell, store: SyncStore, messages: list[Any]) -> list[Any]:
    """Have a summary made of the messages and put in; return the buffer."""
    host.prepare(messages)
    host.flush()
    assert work_once(store) is not None
    turn = host.prepare(messages)
    assert turn.swap is not None
    return turn.buffer


@pytest.mark.parametrize("way", [list, copy.deepcopy])
def test_a_turn_reads_only_what_is_new(make_host: MakeHost, asked: list[int], way: Any) -> None:
    """Whether the host passes the same messages again or equal ones."""
    host, messages = make_host(), chat(5)
    host.prepare(messages)
    asked.clear()
    host.prepare(way(messages) + said(5))
    assert asked == [11, 12]


def test_a_cache_mark_that_moves_through_a_raw_history_costs_a_few_messages(
    make_host: MakeHost, worker_store: SyncStore, asked: list[int]
) -> None:
    """The mark is set on copies, behind the summary, which is put in again without reading the rest."""

    def marked(messages: list[Any]) -> list[Any]:
        last = messages[-1]
        block = {"type": "text", "text": last["content"], "cache_control": {"type": "ephemeral"}}
        return [*messages[:-1], {**last, "content": [block]}]

    host, raw = make_host(model="claude-haiku-4-5"), chat(15)
    swapped(host, worker_store, raw)
    for i in range(15, 19):
        raw = raw + said(i)
        asked.clear()
        turn = host.prepare(marked(raw))
        assert turn.report.reason is Reason.REAPPLIED
        assert len(asked) <= 8


@pytest.mark.parametrize("way", [list, copy.deepcopy])
def test_after_a_swap_a_kept_buffer_is_known(
    make_host: MakeHost, worker_store: SyncStore, asked: list[int], way: Any
) -> None:
    """The buffer that a swap made needs no second reading."""
    host = make_host()
    buffer = swapped(host, worker_store, chat(20))
    asked.clear()
    host.prepare(way(buffer) + said(20))
    assert asked == [len(buffer), len(buffer) + 1]


def test_a_raw_history_is_read_once_though_a_summary_is_put_in_each_turn(
    make_host: MakeHost, worker_store: SyncStore, asked: list[int]
) -> None:
    """A turn reads what is new: in the history, and again behind the summary; nothing more."""
    host, raw = make_host(), chat(20)
    swapped(host, worker_store, raw)
    for i in range(20, 24):
        raw = raw + said(i)
        asked.clear()
        turn = host.prepare(raw)
        assert turn.report.reason is Reason.REAPPLIED
        assert sorted(asked) == sorted(
            [len(raw) - 2, len(raw) - 1, len(turn.buffer) - 2, len(turn.buffer) - 1]
        )
        assert turn.messages == make_host().prepare(raw).messages


def test_a_host_may_turn_back_from_the_kept_buffer_to_the_raw_history(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Nothing that was added to the kept buffer is put in twice."""
    host, raw = make_host(), chat(20)
    kept = swapped(host, worker_store, raw) + said(20)
    host.prepare(kept)
    turn = host.prepare(raw + said(20))
    assert turn.report.action is Action.SWAP
    assert turn.messages == kept
    assert host.prepare(kept + said(21)).messages == kept + said(21)


def test_an_edit_behind_a_summary_ends_its_use(make_host: MakeHost, worker_store: SyncStore) -> None:
    """A raw history that no longer is what was summarised gets no summary of what it was."""
    host, raw = make_host(), chat(20)
    swapped(host, worker_store, raw)
    edited = copy.deepcopy(raw)
    edited[1]["content"] += " and more"
    turn = host.prepare(edited)
    assert turn.swap is None
    assert turn.buffer == edited


def test_a_number_that_became_a_boolean_never_hides_behind_a_summary(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Python takes 1 and True for equal; before a swap all is read anew, as after an edit in place."""
    host, messages = make_host(), chat(20)
    messages[1]["metadata"] = {"step": 1}
    host.prepare(messages)
    host.flush()
    assert work_once(worker_store) is not None
    edited = copy.deepcopy(messages)
    edited[1]["metadata"] = {"step": True}
    turn = host.prepare(edited)
    assert turn.swap is None
    assert turn.buffer[1]["metadata"]["step"] is True
    assert any("changed in place" in fault for fault in turn.report.faults)
    assert host.prepare(edited).swap is None


def test_an_edit_in_place_behind_a_summary_ends_its_use(make_host: MakeHost, worker_store: SyncStore) -> None:
    """What a host takes out of its own raw history is not told on by a summary that was put in before."""
    host, raw = make_host(), chat(20)
    swapped(host, worker_store, raw)
    assert host.prepare(raw).report.reason is Reason.REAPPLIED
    raw[1]["content"] = "[taken out]"
    turn = host.prepare(raw)
    assert turn.swap is None
    assert turn.buffer == raw
    assert any("changed in place" in fault for fault in turn.report.faults)
    assert host.prepare(raw).swap is None


def test_a_rule_added_at_the_very_end_of_what_was_summarised_moves_to_the_front(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A history that ends where its summary does is not gone on with: what comes next may belong in front."""
    host = make_host()
    raw = [system("be brief"), *chat(20, words=300)]
    host.prepare(raw)
    host.flush()
    assert work_once(worker_store) is not None
    swap = host.prepare(raw).swap
    assert swap is not None
    ended = raw[: 1 + swap.position.count]
    assert host.prepare(ended).swap is not None
    grown = [*ended, system("and polite"), user("go on")]
    turn = host.prepare(grown)
    assert turn.messages == [raw[0], system("and polite"), turn.messages[2], user("go on")]
    assert turn.messages == make_host().prepare(grown).messages


def test_a_summary_message_changed_by_the_host_is_not_put_in_again(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """What a host did to the messages of its last request doesn't come back with the next one."""
    host, raw = make_host(), chat(20)
    first = swapped(host, worker_store, raw)
    sent = copy.deepcopy(first)
    for _ in range(2):
        first[0]["content"] += " Think hard."
        turn = host.prepare(raw)
        assert turn.report.reason is Reason.REAPPLIED
        assert turn.messages == sent
        assert turn.swap is not None
        assert turn.swap.summary_message is turn.buffer[0]
        first = turn.messages


def test_a_summary_made_again_with_the_same_words_is_the_new_version(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """A version was withdrawn, and a worker said the same of the same messages once more."""
    host, other, raw = make_host(), make_host(), chat(20)
    swapped(host, worker_store, raw)
    other.reset()
    assert worker_store.run(session_calls.withdraw(Owner.of("acme", "chat"), 1))
    swapped(other, worker_store, raw)
    turn = host.prepare(raw)
    assert turn.report.version == 2
    assert turn.messages == make_host().prepare(raw).messages


def test_a_message_pinned_in_place_is_not_summarised_away(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Marks are no part of what was said, yet they are read anew as well before a swap."""
    host, raw = make_host(), chat(20)
    host.prepare(raw)
    host.flush()
    assert work_once(worker_store) is not None
    raw[2]["ebbtide"] = mark(raw[2], pinned=True)["ebbtide"]
    turn = host.prepare(raw)
    assert turn.swap is None
    assert any("pinned" in fault for fault in turn.report.faults)
    raw[2].pop("ebbtide")
    assert host.prepare(raw).swap is not None


async def test_turns_that_overlap_measure_each_its_own_messages(
    server: EmbeddedServer, worker_store: SyncStore
) -> None:
    """A host that asks again before the last turn is done gets both answers."""
    async with AsyncPool(server.url, policy=SMALL) as pool:
        session = pool.session(tenant="acme", session_id="chat", model="gpt-test", context_window=WINDOW)
        asked = [chat(18), chat(19), chat(20)]
        turns = await asyncio.gather(*map(session.prepare, asked))
        assert [turn.messages for turn in turns] == asked
        assert turns[0].report.projected < turns[1].report.projected < turns[2].report.projected
