"""Real transcripts: they read alike in raw and canonical form, and valid ones break no rule."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ebbtide_core.dialects.base import BlockKind
from ebbtide_core.dialects.detect import by_name
from tests.dialects.examples import Json

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = sorted(DATA.glob("*.jsonl.gz"))

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FILES, reason="no real transcripts beside the checkout (../shared/data)"),
]


def transcripts(path: Path) -> Iterator[Json]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name.split(".")[0])
def test_canonical_forms_read_like_their_messages(path: Path) -> None:
    """Canonical form is idempotent and loses no part of any real message."""
    for transcript in transcripts(path):
        dialect = by_name(transcript["format"])
        for message in transcript["messages"]:
            form = dialect.canonical(message)
            assert dialect.canonical(form) == form
            assert list(dialect.blocks(form)) == list(dialect.blocks(message))
            assert all(block.kind is not BlockKind.OTHER for block in dialect.blocks(message))


@pytest.mark.parametrize(
    "path", [p for p in FILES if "malformed" not in p.name], ids=lambda p: p.name.split(".")[0]
)
def test_recorded_requests_break_no_rule(path: Path) -> None:
    """What providers accepted breaks no rule, but for a compaction block that came in the middle."""
    for transcript in transcripts(path):
        broken = by_name(transcript["format"]).violations(transcript["messages"])
        assert {b.rule for b in broken} <= {"compaction-not-first"}, transcript["id"]


def test_the_calls_without_results_of_a_malformed_log_are_found() -> None:
    """The log says how many of its calls have no result."""
    path = DATA / "claude-code-log-fixtures.malformed.jsonl.gz"
    for transcript in transcripts(path):
        broken = by_name(transcript["format"]).violations(transcript["messages"])
        assert len(broken) == transcript["meta"]["violations"]["tool_use_without_result"]
