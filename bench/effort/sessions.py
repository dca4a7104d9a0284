"""Sessions that live long: seeded ones, and the real transcripts that lie beside the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench.work.process import ROOT
from bench.work.talk import conversation
from ebbtide_cli.replay.reader import read_files
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.jsonio import compact

DATA: Final = ROOT.parent / "shared" / "data"
LONG_BYTES: Final = 400_000
"""About 120,000 tokens: several compactions at a window of 32,000."""


def seeded(name: str, rounds: int) -> Transcript:
    """Return a session of rounds of about 700 tokens each; the same name gives the same one."""
    messages = conversation(name, rounds, result_words=600)
    return Transcript(name, "", 0, "anthropic", None, None, tuple(messages))


def real(folder: Path = DATA) -> list[Transcript]:
    """Return the long transcripts of a folder; none where there is no such folder."""
    found = read_files(sorted(folder.glob("*.transcripts-*.jsonl.gz"))).transcripts
    return [t for t in found if len(compact(list(t.messages)).encode()) >= LONG_BYTES]
