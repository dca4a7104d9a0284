"""What a turn reads and counts anew: only what is new, also for hosts that keep the raw history."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ebbtide_core.decide import Action, Reason
from ebbtide_core.lineage import buffer as reading
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.shells import Shell
from tests.host.talk import chat, said


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The buffer indices of the messages that were read, one after the other."""
    found: list[int] = []
    original = reading.checked

    def counting(message: Any, index: int) -> Any:
        found.append(index)
        return original(message, index)

    monkeypatch.setattr(reading, "checked", counting)
    return found


def swapped(host: Shell, store: SyncStore, messages: list[Any]) -> list[Any]:
    """Have a summary made of the messages and put in; return the buffer."""
    host.prepare(messages)
    host.flush()
    assert work_once(store) is not None
    turn = host.prepare(messages)
    assert turn.swap is not None
    return turn.buffer


@pytest.mark.parametrize("way", [list, copy.deepcopy])
def test_a_turn_reads_only_what_is_new(make_host: MakeHost, read: list[int], way: Any) -> None:
    """Whether the host passes the same messages again or equal ones."""
    host, messages = make_host(), chat(5)
    host.prepare(messages)
    read.clear()
    host.prepare(way(messages) + said(5))
    assert read == [11, 12]


@pytest.mark.parametrize("way", [list, copy.deepcopy])
def test_after_a_swap_a_kept_buffer_is_known(
    make_host: MakeHost, worker_store: SyncStore, read: list[int], way: Any
) -> None:
    """The buffer that a swap made needs no second reading."""
    host = make_host()
    buffer = swapped(host, worker_store, chat(20))
    read.clear()
    host.prepare(way(buffer) + said(20))
    assert read == [len(buffer), len(buffer) + 1]


def test_a_raw_history_is_read_once_though_a_summary_is_put_in_each_turn(
    make_host: MakeHost, worker_store: SyncStore, read: list[int]
) -> None:
    """A turn reads what is new: in the history, and again behind the summary; nothing more."""
    host, raw = make_host(), chat(20)
    swapped(host, worker_store, raw)
    for i in range(20, 24):
        raw = raw + said(i)
        read.clear()
        turn = host.prepare(raw)
        assert turn.report.reason is Reason.REAPPLIED
        assert sorted(read) == sorted(
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
