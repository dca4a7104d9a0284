"""Histories that were lost because the new one could not be written."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide import Action, Reason
from ebbtide_core.names import Owner
from ebbtide_core.store import blob_calls
from ebbtide_core.store.client import SyncStore
from tests.host.conftest import MakeHost
from tests.host.publisher import work_once
from tests.host.talk import chat, said
from tests.store.clock import Database


class Diary:
    """Where a host keeps its messages; the disk may be full."""

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages
        self.full = False

    def write(self, messages: list[Any]) -> None:
        """Keep other messages instead. Raises OSError while the disk is full."""
        if self.full:
            raise OSError("disk full")
        self.messages = messages


def test_the_old_history_was_deleted_before_the_new_one_was_written(
    make_host: MakeHost, worker_store: SyncStore
) -> None:
    """Then writing failed and both were gone. A swap is a value: the host that can't keep it still has what
    it had, says more, and the same record is put in again."""
    host, diary = make_host(), Diary(chat(20))
    host.prepare(diary.messages)
    host.flush()
    assert work_once(worker_store) is not None
    diary.full = True
    first = host.prepare(diary.messages)
    assert first.swap is not None
    with pytest.raises(OSError, match="disk full"):
        diary.write(first.buffer)
    assert diary.messages == chat(20)
    again = host.prepare(diary.messages + said(20))
    assert again.swap is not None
    assert (again.swap.version, again.swap.summary_message) == (1, first.swap.summary_message)
    assert again.buffer == first.buffer + said(20)
    diary.full = False
    diary.write(again.buffer)
    assert host.prepare(diary.messages).report.action is Action.KEEP


def test_a_record_that_is_announced_and_missing_takes_the_history_with_it(
    make_host: MakeHost, worker_store: SyncStore, database: Database
) -> None:
    """The state names a version whose text was never stored or is gone: the buffer stays as it is, and the
    fault is told."""
    host, messages = make_host(), chat(20)
    host.prepare(messages)
    host.flush()
    assert work_once(worker_store) is not None
    key = Owner.of("acme", "chat").record(1)
    assert worker_store.run(blob_calls.get(key)) is not None
    assert database.delete(key) == 1
    turn = host.prepare(messages)
    assert turn.swap is None
    assert turn.buffer == turn.messages == messages
    assert turn.report.reason is not Reason.RECORD_READY
