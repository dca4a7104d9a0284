"""A slot keeps a process running, and tells an end that was brought about from one that was not."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from chaos.slot import Launch, Slot

from tests.waiting import wait_until

pytestmark = pytest.mark.processes

SLEEP = "import time; print('here', flush=True); time.sleep(600)"


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[Slot]:
    """A slot with a process that waits."""
    slot = Slot("one", tmp_path, lambda life: Launch([sys.executable, "-c", SLEEP], {"LIFE": str(life)}))
    slot.tick()
    wait_until(lambda: slot.log.exists() and "here" in slot.log.read_text(), "the process runs")
    yield slot
    slot.close()
    assert not slot.running


def ticked(slot: Slot, lives: int) -> bool:
    """Look after the slot; say whether it has had so many processes."""
    slot.tick()
    return slot.lives == lives


def test_a_process_that_was_ended_is_replaced_once_it_is_wanted(slot: Slot) -> None:
    """Not before, and that is no surprise."""
    slot.end(signal.SIGKILL)
    wait_until(lambda: not slot.running, "the process is gone")
    slot.tick()
    assert not slot.running
    slot.want()
    slot.tick()
    assert slot.running
    assert (slot.lives, slot.surprises) == (2, [])


def test_a_process_that_ended_by_itself_is_replaced_and_reported(slot: Slot) -> None:
    """With the place of its log."""
    [child] = [p for p in psutil.Process().children() if SLEEP in p.cmdline()]
    os.kill(child.pid, signal.SIGKILL)
    wait_until(lambda: ticked(slot, 2), "another process is started")
    [told] = slot.surprises
    assert "one, process 1, ended by itself with code -9" in told
    assert str(slot.log) in told


def test_a_process_is_stopped_and_goes_on(slot: Slot) -> None:
    """Where it was."""
    [child] = [p for p in psutil.Process().children() if SLEEP in p.cmdline()]
    slot.pause()
    wait_until(lambda: child.status() == psutil.STATUS_STOPPED, "it is stopped")
    slot.tick()
    slot.resume()
    wait_until(lambda: child.status() != psutil.STATUS_STOPPED, "it goes on")
    assert (slot.lives, slot.surprises) == (1, [])


def test_what_befalls_nobody_does_nothing(slot: Slot) -> None:
    """A fault may come between two processes."""
    slot.end(signal.SIGKILL)
    wait_until(lambda: not slot.running, "the process is gone")
    slot.end(signal.SIGTERM)
    slot.pause()
    slot.resume()
    slot.tick()
    assert slot.surprises == []
