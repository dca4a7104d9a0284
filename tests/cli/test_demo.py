"""The demo: a session that is always the same and valid, and a command that shows it being compacted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ebbtide_cli.demo.session import session
from ebbtide_cli.replay.provider_rules import broken_rules
from tests.cli.command import run


def test_the_session_is_the_same_for_the_same_seed() -> None:
    """Nothing in it depends on time or place."""
    assert session(1) == session(1)
    assert session(1) != session(2)


def test_the_session_breaks_no_rule_of_its_provider() -> None:
    """It could have been recorded."""
    assert broken_rules("anthropic", session().messages) == []


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_the_demo_shows_jobs_versions_and_at_least_three_swaps(tmp_path: Path) -> None:
    """Without a server or key it ends with a table and exit code 0; its figures are clean."""
    figures = tmp_path / "figures.json"
    done = run("demo", "--pace", "0.1", "--json", figures)
    assert done.returncode == 0, done.stdout + done.stderr
    totals = json.loads(figures.read_text())["totals"]
    assert totals["swaps"] >= 3
    assert totals["versions_published"] >= totals["swaps"]
    assert totals["jobs_enqueued"] >= totals["versions_published"]
    assert (totals["invalid_requests"], totals["uncovered_messages"], totals["requests_over_window"]) == (
        0,
        0,
        0,
    )
    told = done.stdout
    assert len(re.findall(r"^ +swap  \d+ messages became summary \d+", told, re.M)) == totals["swaps"]
    published = set(re.findall(r"^ +version  (\d+) was published|^ +version  (\d+) published", told, re.M))
    assert published
    assert re.search(r"^ +job  1 ", told, re.M)
    assert re.search(r"^turn +\d+ .*over soft", told, re.M)
    assert re.search(r"^ demo +40 ", told, re.M)


def test_the_session_can_be_written_for_replay(tmp_path: Path) -> None:
    """The file is one that `ebbtide replay` reads."""
    path = tmp_path / "demo.jsonl"
    assert run("demo", "--session-out", path).returncode == 0
    line = json.loads(path.read_text())
    assert (line["id"], line["messages"]) == ("demo", list(session().messages))
