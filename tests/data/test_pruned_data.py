"""Real transcripts with superseded results left out: still valid, and only what is worthless is gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ebbtide import prune
from ebbtide_cli.replay.provider_rules import broken_rules
from ebbtide_cli.replay.reader import read_file
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.dialects.base import Block, BlockKind, Dialect
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.views.identity import Superseding

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = sorted(DATA.glob("*.jsonl.gz"))
MARK = "[result superseded; see turn "

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FILES, reason="no real transcripts beside the checkout (../shared/data)"),
    pytest.mark.parametrize("path", FILES, ids=lambda p: p.name.removesuffix(".jsonl.gz")),
]


def results(dialect: Dialect, message: Any) -> list[Block]:
    """Return the results of a message."""
    return [b for b in dialect.blocks(message) if b.kind is BlockKind.RESULT]


def changed(transcript: Transcript, sent: list[Any]) -> Iterator[tuple[Block, Block]]:
    """Yield each result that is sent otherwise, as it was and as it is; nothing else may differ."""
    dialect = by_name(transcript.format)
    for before, after in zip(transcript.messages, sent, strict=True):
        old, new = dialect.blocks(before), dialect.blocks(after)
        assert [(b.kind, b.call_id, b.name, b.is_error) for b in old] == [
            (b.kind, b.call_id, b.name, b.is_error) for b in new
        ]
        for a, b in zip(old, new, strict=True):
            assert a == b or a.kind is BlockKind.RESULT
            if a != b:
                yield a, b


def any_tool(transcript: Transcript) -> Superseding:
    """Return rules by which all calls of a tool ask the same."""
    dialect = by_name(transcript.format)
    calls = (b for m in transcript.messages for b in dialect.blocks(m) if b.kind is BlockKind.CALL)
    return {b.name: () for b in calls}


@pytest.mark.parametrize("loose", [False, True], ids=["built_in", "any_tool"])
def test_real_transcripts_stay_valid(path: Path, loose: bool) -> None:
    """Both checkers find nothing new, the results' texts alone change, and once is enough."""
    for transcript in read_file(path).transcripts:
        rules = any_tool(transcript) if loose else None
        sent = prune(transcript.messages, dialect=transcript.format, superseding=rules)
        assert all(b.text.startswith(MARK) for _, b in changed(transcript, sent))
        before, after = (
            Counter(rule for rule, _ in broken_rules(transcript.format, m))
            for m in (transcript.messages, sent)
        )
        assert after <= before
        dialect = by_name(transcript.format)
        assert dialect.violations([dict(m) for m in sent]) == dialect.violations(list(transcript.messages))
        again = prune(sent, dialect=transcript.format, superseding=rules)
        assert all(a is b for a, b in zip(sent, again, strict=True))


def test_what_takes_the_place_of_a_result_says_as_much(path: Path) -> None:
    """No success gives way to a failure, and no result to one that only points back to it."""
    for transcript in read_file(path).transcripts:
        dialect = by_name(transcript.format)
        sent = prune(transcript.messages, dialect=transcript.format)
        spoken = [m for m in transcript.messages if not dialect.is_system(m)]
        for old, new in changed(transcript, sent):
            turn = int(new.text.removeprefix(MARK).removesuffix("]"))
            newer = results(dialect, spoken[turn - 1])
            assert newer
            assert not any(r.text.startswith("Wasted call") for r in newer)
            assert any(not r.is_error or (old.is_error and r.text == old.text) for r in newer)
