"""`ebbtide replay`: real hosts on a real pool, files good and bad, and what comes out."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from ebbtide_cli.demo.go import write_session
from ebbtide_cli.demo.session import session
from ebbtide_cli.replay.provider_rules import new_violations
from tests.cli.command import run, running, runs
from tests.cli.figures import SESSION_KEYS, SWAP_KEYS
from tests.cli.turns import talk
from tests.waiting import wait_until

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's session as a file."""
    path = tmp_path_factory.mktemp("demo") / "demo.jsonl"
    write_session(path)
    return path


@pytest.mark.processes
def test_a_long_session_is_compacted_and_accounted_for(tmp_path: Path, demo_file: Path) -> None:
    """Without URLs it starts a pool for itself; JSON and swaps have the keys that bind and agree."""
    figures, swaps = tmp_path / "figures.json", tmp_path / "swaps.jsonl"
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "cut off\n[1, 2]\n')
    done = run(
        "replay", "--context-window", "20000", "--keep-recent-tokens", "3000", "--pace", "0.1",
        "--json", figures, "--swaps-out", swaps, bad, demo_file, tmp_path / "missing.jsonl",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(figures.read_text())
    (found,) = document["sessions"]
    assert list(found) == SESSION_KEYS
    assert (found["id"], found["turns"], found["messages"]) == ("demo", 40, 80)
    assert found["swaps"] >= 3
    assert found["jobs_enqueued"] >= found["versions_published"] >= found["swaps"]
    assert (found["invalid_requests"], found["uncovered_messages"], found["requests_over_window"]) == (
        0,
        0,
        0,
    )
    assert [p["kind"] for p in document["problems"]] == ["not JSON", "bad message", "unreadable"]
    for kind in ("not JSON", "bad message", "unreadable"):
        assert kind in done.stdout
    assert document["faults"] == {}
    check_swaps(swaps, found["swaps"], found["degraded_turns"])


def check_swaps(path: Path, swaps: int, degraded: int) -> None:
    """Each line tells of a change that the raw session explains."""
    raw = list(session().messages)
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    assert sum(line["record"] is not None for line in lines) == swaps
    assert sum(line["degraded"] for line in lines) == degraded
    turns = [i for i, m in enumerate(raw) if m["role"] == "assistant"]
    for line in lines:
        assert list(line) == SWAP_KEYS
        sent = line["after"] if line["view"] is None else line["view"]
        assert new_violations("anthropic", raw[: turns[line["turn"] - 1]], sent) == []
        if line["record"]:
            assert line["before"] != line["after"]
            assert "<ebbtide-summary" in str(line["after"][0]["content"])


@pytest.mark.processes
def test_a_given_pool_is_used_and_left_standing(tmp_path: Path, demo_file: Path) -> None:
    """Two replays on one pool don't meet each other's records; what its workers refuse is told by reason."""
    with running(tmp_path, "up") as up:
        up.await_output("Ctrl-C stops it.")
        url = up.output.partition("state and broker")[2].split()[0]
        found = [replayed(url, demo_file, name) for name in ("extractive", "extractive", "magic")]
        assert up.process.poll() is None
    for one in found:
        assert (one["turns"], one["uncovered_messages"]) == (40, 0)
    assert [bool(one["versions_published"]) for one in found] == [True, True, False]
    assert list(found[2]["rejected"]) == ["unknown_summariser"]
    assert found[2]["degraded_turns"] > 0


def replayed(url: str, path: Path, summariser: str) -> Any:
    """Replay a file on a given pool and return its one session."""
    flags = ("--context-window", "20000", "--pace", "0.02", "--summariser", summariser, "--json", "-")
    done = run("replay", *flags, path, EBBTIDE_STATE=url)
    assert done.returncode == 0, done.stdout + done.stderr
    (session,) = json.loads(done.stdout)["sessions"]
    return session


def test_a_pool_that_does_not_answer_is_told_at_once(demo_file: Path) -> None:
    """Exit code 1, and what to do; the password is not shown."""
    done = run("replay", "--state", "redis://:hush@127.0.0.1:1/0", demo_file)
    assert done.returncode == 1
    assert "StoreUnavailable" in done.stdout
    assert "hush" not in done.stdout + done.stderr


def test_nothing_to_replay_is_told(tmp_path: Path) -> None:
    """No pool is started for it; exit code 1, and the report holds the problems."""
    done = run("replay", "--json", "-", tmp_path / "missing.jsonl")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["sessions"] == []
    assert [p["kind"] for p in document["problems"]] == ["unreadable"]
    assert "Nothing to replay" in done.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--soft", "0.9", "--hard", "0.5"), "must be below hard"),
        (("--context-window", "5"), "context-window"),
        (("--jobs", "0"), "jobs"),
        (("--model", "a\nb"), "control character"),
    ],
)
def test_wrong_flags_are_named(demo_file: Path, flags: tuple[str, ...], said: str) -> None:
    """Exit code 2, as for every wrong usage."""
    done = run("replay", *flags, demo_file)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.processes
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are told apart by /proc")
def test_it_stops_in_order(tmp_path: Path) -> None:
    """Ctrl-C in the middle ends it with 130, and its pool with it."""
    path = tmp_path / "long.jsonl"
    path.write_text("".join(json.dumps({"messages": talk(n)}) + "\n" for n in (1, 2_000)))
    with running(tmp_path, "replay", "--pace", "0.05", path) as replay:
        replay.await_output("1/2")
        children = replay.children()
        assert len(children) == 2
        replay.process.send_signal(signal.SIGINT)
        assert replay.process.wait(30) == 128 + signal.SIGINT
        wait_until(lambda: not any(map(runs, children)), "its processes ended")
    assert "Stopped by SIGINT" in replay.output
