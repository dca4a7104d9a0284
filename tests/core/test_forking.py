"""Locks of a forked child."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

HELD = """
    import os, threading
    from ebbtide_core.forking import ForkSafeLock

    lock, held, go_on = ForkSafeLock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            go_on.wait(30.0)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30.0)
    child = os.fork()
    if not child:
        with lock:
            os._exit(7)
    status = os.waitpid(child, 0)[1]
    go_on.set()
    thread.join()
    with lock:
        pass
    assert os.waitstatus_to_exitcode(status) == 7
"""


def test_a_lock_that_another_thread_held_at_the_fork_is_free_in_the_child() -> None:
    """And stays held in the parent until it is released there."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", dedent(HELD)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
