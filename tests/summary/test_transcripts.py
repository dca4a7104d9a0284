"""The local summariser over real transcripts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.summary.talk import tokens

from ebbtide_core.dialects.detect import by_name
from ebbtide_core.summary.extractive import extract, summarise
from ebbtide_core.summary.fit import fit
from ebbtide_core.summary.merge import merge
from ebbtide_core.summary.message import parse, render
from ebbtide_core.summary.model import MAX_ITEMS, Summary
from ebbtide_core.summary.source import SourceMessage, contains, source_message

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
FILES = sorted(path.name for path in DATA.glob("*.jsonl.gz"))

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FILES, reason="../shared/data is absent: no real transcripts to read"),
]
each_file = pytest.mark.parametrize("name", FILES or ["absent"])


@cache
def transcripts(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def sources(name: str) -> list[list[SourceMessage]]:
    found = []
    for transcript in transcripts(name):
        dialect = by_name(transcript["format"])
        messages = enumerate(transcript["messages"])
        found.append([source_message(i, m, dialect) for i, m in messages])
    return found


@cache
def extracted(name: str) -> list[Summary]:
    return [extract(source) for source in sources(name)]


@each_file
def test_never_over_budget_and_the_same_each_time(name: str) -> None:
    """At each budget the rendering fits and parses back, and a second run gives the same."""
    for source, whole in zip(sources(name), extracted(name), strict=True):
        for budget in (150, 1000, 4096):
            made = fit(whole, budget, tokens)
            assert tokens(render(made)) <= budget
            assert parse(render(made)) == made
        assert summarise(source, base=None, budget=4096, count=tokens) == made


@each_file
def test_names_are_verbatim(name: str) -> None:
    """Each file and identifier stands in its transcript."""
    for source, found in zip(sources(name), extracted(name), strict=True):
        in_source = contains(source)
        assert [item for item in (*found.files_touched, *found.identifiers) if not in_source(item)] == []


@each_file
def test_files_of_file_tools_are_found(name: str) -> None:
    """What tools were given as `file_path` is in files_touched, as far as the list is not full."""
    for transcript, summary in zip(transcripts(name), extracted(name), strict=True):
        found = summary.files_touched
        if len(found) < MAX_ITEMS:
            wanted = set(file_paths(transcript["messages"]))
            assert {path for path in wanted if not any(f"/{f}".endswith(f"/{path}") for f in found)} == set()


def file_paths(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if (
                isinstance(block, dict)
                and block.get("type") == "tool_use"
                and isinstance(block["input"].get("file_path"), str)
            ):
                yield block["input"]["file_path"]


@each_file
def test_chunks_merged_agree_with_the_whole(name: str) -> None:
    """Summarised in parts, a transcript keeps its intent, latest request and rules of the whole."""
    for source, whole in zip(sources(name), extracted(name), strict=True):
        third = len(source) // 3 + 1
        parts = merge([extract(source[i : i + third]) for i in range(0, len(source), third)])
        assert (parts.session_intent, parts.active_request) == (whole.session_intent, whole.active_request)
        assert set(parts.user_constraints) == set(whole.user_constraints)
