"""Real transcripts through the real command: nothing invalid, nothing lost, and compacted where due."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ebbtide_cli.replay.reader import read_files
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.budget.boundary import boundary
from ebbtide_core.budget.measure import Parts, project, tokens_of
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import Buffer, empty, read
from ebbtide_core.policy import Policy, limits
from tests.cli.command import run

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
WHOLE = sorted(DATA.glob("*.transcripts-*.jsonl.gz"))
MALFORMED = sorted(DATA.glob("*.malformed.jsonl.gz"))
WINDOW = 32_000
LONG_RUN = 5
LIMITS = limits(Policy(), WINDOW)

pytestmark = [
    pytest.mark.data,
    pytest.mark.processes,
    pytest.mark.skipif(not WHOLE, reason="no real transcripts beside the checkout (../shared/data)"),
]


def is_due(buffer: Buffer, meter: Meter, parts: Parts) -> bool:
    """Say whether a buffer is at or above soft with a boundary that leaves enough to summarise."""
    sizes = Sizes(meter, buffer)
    projection = project(sizes, parts, 1.0, LIMITS.soft)
    if projection.total < LIMITS.soft:
        return False
    cut = boundary(buffer, tokens_of(sizes.each(), 1.0), LIMITS, projection.outside)
    return cut is not None and cut.new_tokens >= LIMITS.min_new_tokens


def longest_due_run(transcript: Transcript) -> int:
    """Return the most turns in a row at which the raw history, never swapped, is due."""
    meter = Meter(tokenizer(), by_name(transcript.format))
    parts = Parts(
        system_tokens=meter.value_tokens(transcript.system, "system"),
        tools_tokens=meter.value_tokens(transcript.tools, "tools"),
        max_tokens=LIMITS.max_tokens,
    )
    longest = current = 0
    buffer = empty(meter.dialect)
    for index, message in enumerate(transcript.messages):
        if message["role"] == "assistant":
            buffer = read(transcript.messages[:index], meter.dialect, buffer)
            current = current + 1 if is_due(buffer, meter, parts) else 0
            longest = max(longest, current)
    return longest


@pytest.mark.timeout(900)
def test_all_transcripts_replay_clean_and_long_ones_are_compacted(tmp_path: Path) -> None:
    """At a window of 32,000 tokens each request is valid, each message kept or covered, and only turns that
    fit no window are over it; each transcript that is due for five turns in a row gets a version.
    """
    report = tmp_path / "report.json"
    done = run(
        "replay", "--context-window", str(WINDOW), "--pace", "0.05", "--json", report, *WHOLE, timeout=800.0
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    document = json.loads(report.read_text())
    transcripts = read_files(WHOLE).transcripts
    sessions = {session["id"]: session for session in document["sessions"]}
    assert document["problems"] == []
    assert list(sessions) == [t.id for t in transcripts]
    assert document["totals"]["invalid_requests"] == 0
    assert document["totals"]["uncovered_messages"] == 0
    over = [i for i, s in sessions.items() if s["requests_over_window"] > s["unfittable_turns"]]
    assert over == []
    due = [t.id for t in transcripts if longest_due_run(t) >= LONG_RUN]
    assert len(due) > 40
    assert [name for name in due if not sessions[name]["versions_published"]] == []


@pytest.mark.timeout(400)
def test_malformed_transcripts_run_through(tmp_path: Path) -> None:
    """Calls without results and reused ids are replayed; damaged files beside them are told by kind."""
    report = tmp_path / "report.json"
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(MALFORMED[0].read_bytes()[:-200])
    done = run(
        "replay", "--context-window", str(WINDOW), "--pace", "0.02", "--json", report, cut, *MALFORMED,
        timeout=350.0,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
    document = json.loads(report.read_text())
    assert len(document["sessions"]) == len(read_files(MALFORMED).transcripts)
    assert [p["kind"] for p in document["problems"]] == ["undecodable gzip"]
    assert document["totals"]["uncovered_messages"] == 0
