"""`ebbtide cost`: its table, its JSON, its flags, and what it says when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import run
from tests.core.say import assistant, user

LONG = "The quick brown fox jumps over the lazy dog and looks for a place to sleep. " * 60


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A file with a short session, and one that outgrows 8,000 tokens."""
    short = [user("hello"), assistant("good day")]
    long = [(user, assistant)[n % 2](f"{n}: {LONG}") for n in range(24)]
    path = tmp_path / "talk.jsonl"
    lines = ({"id": name, "messages": messages} for name, messages in (("short", short), ("long", long)))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def document(*arguments: str | Path) -> dict[str, Any]:
    """What the command writes as JSON."""
    done = run("cost", *arguments, "--json", "-", "--quiet")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_table_names_every_way_and_what_it_costs(talk: Path) -> None:
    """A table of all sessions and one of those that outgrow the window, then the verdict."""
    done = run("cost", "--context-window", "8000", talk)
    assert done.returncode == 0, done.stderr
    assert "Window 8,000: all 2 sessions" in done.stdout
    assert "Only the 1 that outgrow it" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    names = [
        row[0] for row in rows if row and row[0] in ("never", "reactive", "newest", "immediate", "cost-aware")
    ]
    assert names == ["never", "reactive", "newest", "immediate", "cost-aware"] * 2
    assert "within 10 % in" in done.stdout
    for heading in ("cached $", "uncached $", "summaries $", "read", "written", "input", "output"):
        assert heading in done.stdout


def test_quiet_shows_the_sums_of_all_sessions_only(talk: Path) -> None:
    """The sessions that outgrow the window have no table of their own."""
    done = run("cost", "--context-window", "8000", "--quiet", talk)
    assert "all 2 sessions" in done.stdout
    assert "outgrow" not in done.stdout


def test_json_holds_sums_sessions_and_rates(talk: Path) -> None:
    """The sums are those of the sessions; dollars are tokens times rates."""
    found = document("--context-window", "8000", "--context-window", "16000", talk)
    assert found["model"] == "claude-sonnet-5-5"
    assert found["rates"]["model"]["cache_read"] == 0.1
    assert [one["context_window"] for one in found["windows"]] == [8_000, 16_000]
    assert [one["id"] for one in found["sessions"]] == ["short", "long"]
    small = found["windows"][0]
    assert (small["sessions"], small["sessions_over_window"]) == (2, 1)
    for way, sums in small["all"].items():
        parts = [
            outcome
            for session in found["sessions"]
            for outcome in session["windows"]
            if (outcome["context_window"], outcome["way"]) == (8_000, way)
        ]
        assert sums["turns"] == sum(part["turns"] for part in parts)
        assert sums["dollars"] == pytest.approx(sum(part["dollars"] for part in parts), abs=1e-5)
        cached = sums["cached"]
        dollars = (
            cached["cache_write_tokens"] * 2.5
            + cached["cache_read_tokens"] * 0.1
            + cached["output_tokens"] * 10
        ) / 1e6
        assert cached["dollars"] == pytest.approx(dollars, abs=1e-5)
        assert sums["uncached"]["input_tokens"] == cached["cache_write_tokens"] + cached["cache_read_tokens"]
    assert small["all"]["never"]["compactions"] == 0
    assert small["all"]["reactive"]["turns_that_waited"] == small["all"]["reactive"]["compactions"] > 0
    assert small["all"]["cost_aware"]["compactions"] > 0
    assert small["cost_aware"]["worst_session"] in ("short", "long")


def test_a_file_of_rates_extends_the_table(talk: Path, tmp_path: Path) -> None:
    """Ten times the price is ten times the cost; the summariser's prices are its own."""
    rates = tmp_path / "rates.json"
    dear = {"input": 20, "output": 100, "cache_write": 25, "cache_read": 1}
    rates.write_text(json.dumps({"claude-dear": dear}), encoding="utf-8")
    usual = document("--context-window", "8000", talk)["windows"][0]["all"]["never"]
    found = document("--context-window", "8000", "--model", "claude-dear-1", "--rates", rates, talk)
    assert found["windows"][0]["all"]["never"]["dollars"] == pytest.approx(10 * usual["dollars"], rel=1e-4)
    assert found["rates"]["summariser"]["input"] == 0.1


def test_a_model_without_known_prices_is_told(talk: Path) -> None:
    """Its dollars only compare."""
    done = run("cost", "--context-window", "8000", "--model", "my-model", talk)
    assert done.returncode == 0
    assert "no prices of my-model are known" in done.stdout
    assert "claude-haiku" not in done.stdout


def test_extractive_summaries_have_their_own_size(talk: Path) -> None:
    """They are not the 300 tokens that stand for any summary otherwise."""
    found = document("--context-window", "8000", "--extractive", talk)
    way = found["windows"][0]["all"]["cost_aware"]
    assert found["summary_tokens"] is None
    assert way["summariser"]["output_tokens"] > 0
    assert way["summariser"]["output_tokens"] % 300


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "Invalid JSON"),
        ("[]", "the file: Input should be"),
        ('{"m": {"input": 1}}', "m.output"),
        (
            '{"m": {"input": -1, "output": 1, "cache_write": 1, "cache_read": 1}}',
            "input is a number from 0 on",
        ),
    ],
)
def test_a_wrong_file_of_rates_is_told(talk: Path, tmp_path: Path, content: str, told: str) -> None:
    """What is wrong, and where; nothing is priced."""
    rates = tmp_path / "rates.json"
    rates.write_text(content, encoding="utf-8")
    done = run("cost", "--rates", rates, talk)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.replace("│", " ").split())


def test_flags_that_go_not_together_are_told(talk: Path) -> None:
    """A swap ratio outside the watermarks."""
    done = run("cost", "--swap-ratio", "0.5", talk)
    assert done.returncode == 2
    assert "must lie within soft" in " ".join(done.stderr.replace("│", " ").split())


def test_damaged_input_is_told_and_the_rest_is_priced(talk: Path, tmp_path: Path) -> None:
    """A file that is missing stops nothing; with nothing to price the exit code is 1."""
    missing = tmp_path / "missing.jsonl"
    done = run("cost", "--context-window", "8000", missing, talk)
    assert (done.returncode, "unreadable" in done.stdout) == (0, True)
    alone = run("cost", missing)
    assert (alone.returncode, "Nothing to price." in alone.stdout) == (1, True)


def test_a_narrow_terminal_is_shown_dollars_and_counts(talk: Path) -> None:
    """No cell is cut off at 80 columns."""
    done = run("cost", "--context-window", "8000", talk, COLUMNS="80")
    assert "…" not in done.stdout
    assert "cached $" in done.stdout
    assert "written" not in done.stdout


def test_help_teaches_with_an_example() -> None:
    """What the ways are, and a line to copy."""
    done = run("cost", "--help")
    assert done.returncode == 0
    assert "Example:" in done.stdout
    assert "cost-aware" in done.stdout
