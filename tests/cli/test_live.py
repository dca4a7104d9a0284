"""The live view in a real terminal, and what the commands show where there is none."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from ebbtide_cli.demo.go import write_session
from tests.cli.command import ANSI, run
from tests.cli.terminal import HIDE, terminal
from tests.cli.turns import talk

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]
FAST = ("--pace", "0.05")
BAR = re.compile(r" demo +█+[┊░█·]*┊[░█·]*┃")


@pytest.fixture(scope="module")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's session as a file."""
    path = tmp_path_factory.mktemp("demo") / "demo.jsonl"
    write_session(path)
    return path


def test_the_demo_is_live_in_a_terminal() -> None:
    """A bar with both marks while it runs; then the story and the tables stay, and the cursor is back."""
    with terminal("demo", *FAST) as screen:
        screen.read_until(lambda: bool(BAR.search(screen.text)), "a bar with both marks")
        assert not screen.cursor_shown
        assert screen.read_to_end() == 0
        assert screen.cursor_shown
    live, _, last = screen.text.rpartition("turn   5")
    assert re.search(r"demo .* \d+/40 ", live)
    for words in (
        "job  1 is in the queue",
        "version  1 published",
        " messages became summary 1",
        "0/1 session · ",
    ):
        assert words in live
    assert len(re.findall(r"\n +swap  \d+ messages became summary", last)) >= 3
    assert re.search(r"\n demo +40 ", last)
    assert "┃" not in last


def test_a_replay_is_live_in_a_terminal_and_follows_its_size(tmp_path: Path, demo_file: Path) -> None:
    """Sessions side by side have a bar each; made narrow and short, the picture fits again."""
    other = tmp_path / "other.jsonl"
    other.write_text(demo_file.read_text().replace('"demo"', '"twin"', 1))
    flags = ("replay", "--context-window", "20000", "--keep-recent-tokens", "3000", "--pace", "0.1")
    with terminal(*flags, demo_file, other) as screen:
        screen.read_until(lambda: bool(BAR.search(screen.text)), "a bar")
        screen.read_until(lambda: " twin " in screen.text, "the other session's bar")
        screen.resize(48, 8)
        before = len(screen.text)
        screen.read_until(lambda: screen.text[before:].count("\n twin ") > 5, "frames of the new size")
        small = screen.text[before:].splitlines()[8:-8]
        assert screen.read_to_end() == 0
        assert screen.cursor_shown
    assert max(map(len, small)) <= 48
    assert any(BAR.search(line) for line in small)
    assert re.search(r"Turns +80 in 2 sessions", screen.text)


@pytest.mark.parametrize("command", ["demo", "replay"])
def test_ctrl_c_gives_the_terminal_back(command: str, tmp_path: Path) -> None:
    """In the middle of a session: the cursor is shown, the picture gone, the exit code the signal's.

    NO_COLOR takes the colours of the picture only.
    """
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"id": "long", "messages": talk(2_000)}) + "\n")
    files = [path] if command == "replay" else []
    with terminal(command, "--pace", "0.3", *files, NO_COLOR="1") as screen:
        screen.read_until(lambda: bool(re.search(r" 2/(40|2000) ", screen.text)), "a turn")
        assert not screen.cursor_shown
        os.kill(screen.process.pid, signal.SIGINT)
        assert screen.read_to_end() == 128 + signal.SIGINT
    assert screen.cursor_shown
    assert "┃" in screen.text
    assert "┃" not in screen.text.rpartition("Stopped by SIGINT.")[2]
    assert not re.findall(r"\x1b\[[\d;]*3\dm", screen.written)


def test_a_dumb_terminal_gets_plain_lines() -> None:
    """It could not move its cursor."""
    with terminal("demo", *FAST, TERM="dumb") as screen:
        assert screen.read_to_end() == 0
    assert HIDE not in screen.written
    assert "┃" not in screen.text
    assert re.search(r"\n +swap  \d+ messages", screen.text)


def test_forced_colours_make_a_pipe_no_terminal(demo_file: Path) -> None:
    """Many CI systems set FORCE_COLOR: plain lines stay, nothing moves the cursor."""
    done = run(
        "replay", *FAST, "--context-window", "20000", demo_file, FORCE_COLOR="1", NO_COLOR="", TERM="xterm"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1/1  demo  40 turns" in ANSI.sub("", done.stdout)
    assert not re.search(r"\x1b\[[\d;?]*[A-LN-Za-ln-z]", done.stdout)


def test_quiet_leaves_the_totals(demo_file: Path, tmp_path: Path) -> None:
    """And problems; no session's line, no table of sessions, also in a terminal."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text("[1, 2\n")
    flags = ("replay", "--quiet", *FAST, "--context-window", "20000", bad, demo_file)
    with terminal(*flags) as screen:
        assert screen.read_to_end() == 0
    lines = screen.text.strip().splitlines()
    assert lines[0].startswith("not JSON")
    assert lines[1].split()[:4] == ["Turns", "40", "in", "1"]
    assert [line.split()[0] for line in lines[1:]] == ["Turns", "Summaries", "Requests", "Messages", "Stall"]
    assert HIDE not in screen.written


def test_quiet_with_json_says_nothing(tmp_path: Path) -> None:
    """The figures are in the file, the result is the exit code."""
    path = tmp_path / "figures.json"
    done = run("demo", "-q", *FAST, "--json", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(path.read_text())["totals"]["turns"] == 40
