"""`ebbtide up`: a pool that works, and that leaves nothing behind however it ends."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from ebbtide import Action, Policy, Pool
from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls, tally_calls
from ebbtide_core.store.client import SyncStore
from tests.cli.command import Running, running, runs
from tests.host.talk import chat
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are told apart by /proc"),
]

UP = "The pool is up."
STOP_SECONDS = 30.0


def url_of(up: Running) -> str:
    """Return the URL that `up` shows."""
    up.await_output("Ctrl-C stops it.")
    found = re.search(r"redis://127\.0\.0\.1:\d+/0", up.output)
    assert found, up.output
    return found[0]


def worker_of(up: Running) -> Path:
    """Return the /proc folder of the only worker of a pool."""
    (found,) = [
        Path(f"/proc/{pid}")
        for pid in up.children()
        if b"ebbtide_cli" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return found


def grace_of(up: Running) -> str:
    """Return the grace that the pool's worker is given."""
    given = dict(pair.split("=", 1) for pair in (worker_of(up) / "environ").read_text().split("\0") if pair)
    return given["EBBTIDE_GRACE"]


def test_a_host_that_connects_gets_its_summaries(tmp_path: Path) -> None:
    """With nothing but the URL shown, a session is compacted by the workers of the pool. They get no grace,
    since what they publish goes with the pool.
    """
    with running(tmp_path, "up") as up:
        with Pool(url_of(up), policy=Policy(wait_budget=30.0)) as pool:
            session = pool.session(tenant="t", session_id="s", model="gpt-test", context_window=4_000)
            turn = session.prepare(chat(27))
        assert turn.report.action is Action.SWAP
        store = SyncStore(url_of(up), timeout=5.0)
        assert store.run(tally_calls.tally(Owner("t", "s"))) == {tally_calls.ENQUEUED: 1}
        store.close()
        assert grace_of(up) == "0.0"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_nothing_outlives_it(tmp_path: Path, how: signal.Signals) -> None:
    """Server and workers end with it, also when it is killed and can do nothing for that."""
    with running(tmp_path, "up", "--workers", "2") as up:
        url_of(up)
        children = up.children()
        assert len(children) == 3
        up.process.send_signal(how)
        code = up.process.wait(STOP_SECONDS)
        wait_until(lambda: not any(map(runs, children)), "its processes ended", STOP_SECONDS)
    assert code == (-signal.SIGKILL if how is signal.SIGKILL else 0)


def test_a_worker_that_dies_ends_it_loudly(tmp_path: Path) -> None:
    """A pool without its worker is no pool: it says so, stops the rest and fails."""
    with running(tmp_path, "up") as up:
        url_of(up)
        children = up.children()
        os.kill(int(worker_of(up).name), signal.SIGKILL)
        assert up.process.wait(STOP_SECONDS) == 1
        wait_until(lambda: not any(map(runs, children)), "its processes ended", STOP_SECONDS)
        assert "worker 0 ended by itself" in up.output


def test_data_is_kept_in_a_folder_that_is_given(tmp_path: Path) -> None:
    """A second `up` on the same folder and port holds what the first one did; so its workers get their
    grace.
    """
    owner = Owner("t", "s")
    data = tmp_path / "data"
    urls: list[str] = []
    for event in ("first", "second"):
        port = urls[0].rpartition(":")[2].partition("/")[0] if urls else "0"
        with running(tmp_path, "up", "--data", data, "--port", port) as up:
            urls.append(url_of(up))
            store = SyncStore(urls[-1], timeout=5.0)
            store.run(session_calls.reset(owner, fresh_incarnation="i", state_ttl=600))
            store.run(tally_calls.tally_add(owner, event, ttl=600))
            counted = store.run(tally_calls.tally(owner))
            store.close()
            assert grace_of(up) == "20.0"
    assert urls[0] == urls[1]
    assert counted == {"first": 1, "second": 1}
