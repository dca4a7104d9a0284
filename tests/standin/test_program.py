"""The stand-in as a program: its flags, its help, its ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import psutil
import pytest

from tests.standin import Behaviour, Kind, Process, Settings
from tests.standin.__main__ import main
from tests.standin.kinds import MEANING
from tests.standin.talk import ask, client_of, failure

pytestmark = pytest.mark.processes

SIDE_BY_SIDE = 64


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    """Each fault is told by name, and how to steer it while it runs."""
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(f"  {kind} " in said and meaning in said for kind, meaning in MEANING.items())
    assert "/control" in said
    assert "ANTHROPIC_BASE_URL=http://" in said


@pytest.mark.parametrize(
    "flags",
    [
        ("--latency", "soon"),
        ("--fault", "explode"),
        ("--fault", "overloaded:2"),
        ("--window", "0"),
        ("--settings", "no/such/file.json"),
    ],
)
def test_a_wrong_flag_is_told(flags: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """It ends at once, and says what is wrong."""
    with pytest.raises(SystemExit, match="2"):
        main(flags)
    assert "error: " in capsys.readouterr().err


async def test_flags_and_a_file_set_it(tmp_path: Path) -> None:
    """A compose file can say all that a test can; flags come after the file."""
    file = tmp_path / "settings.json"
    file.write_text(Settings(window=5, max_bytes=300, queue=(Behaviour(kind=Kind.PROSE),)).model_dump_json())
    flags = ("--settings", str(file), "--window", "9000", "--fault", "spend_limit", "--latency", "list:0.01")
    with Process(*flags, "--requests", "2", "--per", "1000", "--seed", "3", "--exact") as standin:
        async with client_of(standin.url) as client:
            assert (await ask(client, output_config={})).stop_reason == "end_turn"
            assert (await failure(client, output_config={})).error_code == "enforced_spend_limit_reached"
            assert type(await failure(client, output_config={})) is anthropic.RateLimitError
            assert (await failure(client, "x" * 300)).status_code == 413
        log = standin.control.requests(count=4, settled=True)
    assert [entry["outcome"] for entry in log] == ["prose", "spend_limit", "rate_limited", "rejected"]


async def test_many_requests_are_served_side_by_side_and_counted() -> None:
    """Sixty-four wait at the same time, each is answered, and one of them saw all others in flight."""
    with Process("--latency", "1") as standin:
        async with client_of(standin.url) as client:
            answers: list[Any] = await asyncio.gather(
                *(ask(client, f"MSGID-{n}") for n in range(SIDE_BY_SIDE))
            )
        log = standin.control.requests(count=SIDE_BY_SIDE, settled=True)
        health = standin.control.call("/health")
    assert {answer.stop_reason for answer in answers} == {"end_turn"}
    assert max(entry["in_flight"] for entry in log) == SIDE_BY_SIDE
    assert len({json.dumps(entry["ids"]) for entry in log}) == SIDE_BY_SIDE
    assert health == {"status": "ok"}


def test_the_process_ends_when_asked() -> None:
    """Its standard input's end stops it, in order, so nothing is left when the test's process dies."""
    standin = Process()
    assert standin.stop() == 0
    assert not psutil.pid_exists(standin.pid)


def test_the_process_ends_on_sigterm() -> None:
    """The usual signal stops it, in order."""
    with Process() as standin:
        psutil.Process(standin.pid).terminate()
        assert standin.stop() == 0


def test_a_process_that_does_not_start_says_so() -> None:
    """Instead of a URL there is an exit code."""
    with pytest.raises(RuntimeError, match="exit code 2"):
        Process("--window", "-1")
