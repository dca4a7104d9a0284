"""The examples' agents as processes: real SDKs, a real worker and server, models of the stand-in."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from ebbtide_cli.embedded import EmbeddedServer
from tests.cli.command import environment
from tests.processes.workers import await_ready, start
from tests.standin import Behaviour, Call, Kind, Settings, StandIn
from tests.standin.fixture import standin

__all__ = ["standin"]

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]

ROOT: Final = Path(__file__).resolve().parents[2]
BASES: Final = {"anthropic": "", "openai": "/v1"}
"""What each SDK's base URL has behind the host."""
MODELS: Final = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6-sol"}
MARKS: Final = {"anthropic": 1, "openai": 0}
"""Cache marks in each request; OpenAI caches without."""
WINDOW: Final = 16_000
FILES: Final = 50
TASK: Final = "Find the module where the ledger of ticket INV-20417 is closed, and touch nothing in attic/."
ANSWER: Final = "It is closed in module_07.txt, line 3."
SWAPPED: Final = re.compile(
    r"^\[summary (\d+) stands for (\d+) messages: ([\d,]+) → ([\d,]+) tokens\]$", re.M
)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a pool with one worker, which summarises without a model."""
    with EmbeddedServer(tcp=True) as server:
        worker = start(tmp_path_factory.mktemp("worker"), "one", state=server.url, summariser="extractive")
        try:
            await_ready(worker)
            yield server.url
        finally:
            worker.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the agent looks around in: files of about a thousand tokens, no two alike."""
    drawn = random.Random(7)
    words = [
        f"{a}{b}" for a in ("led", "tick", "mod", "arch", "bal") for b in ("ger", "et", "ule", "ive", "ance")
    ]
    for n in range(FILES):
        lines = [" ".join(drawn.choices(words, k=10)) for _ in range(35)]
        (tmp_path / f"module_{n:02}.txt").write_text("\n".join(lines))
    return tmp_path


def look_around() -> list[Behaviour]:
    """What the model does: it lists, reads every file once, searches beside, and answers."""
    listing = Call(name="list_files", input={"path": "."})
    beside = Call(name="search", input={"path": "module_03.txt", "text": "ledger"})
    reads = [Call(name="read_file", input={"path": f"module_{n:02}.txt"}) for n in range(FILES)]
    rounds = [(listing,), (reads[0], beside), *((read,) for read in reads[1:])]
    calls = [Behaviour(kind=Kind.TOOL_CALL, calls=made) for made in rounds]
    return [*calls, Behaviour(kind=Kind.TEXT, text=ANSWER)]


def started(name: str, standin: StandIn, pool: str, folder: Path, task: str = TASK) -> subprocess.Popen[str]:
    """Start a loop."""
    flags = {
        "--folder": folder,
        "--state": pool,
        "--window": WINDOW,
        "--base-url": standin.url + BASES[name],
        "--model": MODELS[name],
    }
    given = [str(word) for flag in flags.items() for word in flag]
    return subprocess.Popen(
        [sys.executable, "-m", f"examples.{name}_loop", *given, task],
        cwd=ROOT,
        env=environment(ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k", no_proxy="127.0.0.1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a loop's end; return its exit code and what it wrote to stdout and stderr."""
    with process:
        try:
            out, err = process.communicate(timeout=200)
        finally:
            process.kill()
    return process.returncode, out, err


def run(name: str, standin: StandIn, pool: str, folder: Path, task: str = TASK) -> tuple[int, str, str]:
    """Run a loop to its end; as `ended`."""
    return ended(started(name, standin, pool, folder, task))


def marks(messages: Any) -> int:
    """Return the number of cache marks."""
    return json.dumps(messages).count('"cache_control"')


@pytest.mark.parametrize("name", BASES)
def test_a_conversation_outlives_its_window(name: str, standin: StandIn, pool: str, folder: Path) -> None:
    """Three times what the window holds is read; the provider takes each request, and all hold the task."""
    standin.control.set(Settings(window=WINDOW, exact=True))
    standin.control.queue(*look_around())
    code, out, err = run(name, standin, pool, folder)
    assert (code, out) == (0, ANSWER + "\n"), err
    requests = standin.control.requests()
    assert Counter(entry["outcome"] for entry in requests) == {"tool_call": FILES + 1, "text": 1}
    versions = [int(version) for version, *_ in SWAPPED.findall(err)]
    assert len(versions) >= 3, err
    assert versions == sorted(set(versions))
    sent = [entry["body"]["messages"] for entry in requests]
    assert all(TASK in json.dumps(messages) for messages in sent)
    assert len(sent[-1]) < len(requests)
    assert [marks(messages) for messages in sent] == [MARKS[name]] * len(sent)


@pytest.mark.parametrize("name", BASES)
def test_a_task_that_fits_no_window_is_told(name: str, standin: StandIn, pool: str, folder: Path) -> None:
    """Nothing is sent; the program says what is wrong and fails."""
    code, _, err = run(name, standin, pool, folder, task="tell me " * WINDOW)
    assert code == 1
    assert "Not even the newest message alone fits" in err
    assert "Traceback" not in err
    assert standin.control.requests() == []


@pytest.mark.parametrize("name", BASES)
def test_a_model_that_refuses_is_told(name: str, standin: StandIn, pool: str, folder: Path) -> None:
    """The provider's error is the last line, and the program ends in order."""
    standin.control.queue(Kind.UNAUTHORIZED)
    code, _, err = run(name, standin, pool, folder)
    assert code == 1
    assert err.splitlines()[-1].startswith("The model can't be asked: ")
    assert "Traceback" not in err


@pytest.mark.parametrize("name", BASES)
def test_an_interrupt_ends_it_in_order(name: str, standin: StandIn, pool: str, folder: Path) -> None:
    """In the middle of a model call: pool and client are closed, and there is no traceback."""
    standin.control.queue(Kind.HANG)
    process = started(name, standin, pool, folder)
    standin.control.requests(count=1, wait=50.0)
    process.send_signal(signal.SIGINT)
    code, _, err = ended(process)
    assert code == 130
    assert "Traceback" not in err


@pytest.mark.parametrize("name", BASES)
def test_without_a_pool_the_agent_still_answers(name: str, standin: StandIn, folder: Path) -> None:
    """Nobody listens at the URL: the conversation goes on, uncompacted."""
    standin.control.queue(*look_around()[:2], Behaviour(kind=Kind.TEXT, text=ANSWER))
    code, out, err = run(name, standin, "redis://127.0.0.1:1/0", folder)
    assert (code, out) == (0, ANSWER + "\n"), err
