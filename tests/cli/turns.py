"""Turns as a host would return them, and hosts that do one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ebbtide.turn import Report, Swapped, Turn
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.contract.record import (
    Carried,
    ChunkCoverage,
    ChunkStatus,
    SummariserName,
    SummaryRecord,
    body_digest,
)
from ebbtide_core.decide import Action, Reason
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.chain import Position
from ebbtide_core.summary.model import Summary

Json = dict[str, Any]
DIGEST = "0" * 32


def user(text: str) -> Json:
    """A user message."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Json:
    """An assistant message."""
    return {"role": "assistant", "content": text}


def talk(rounds: int) -> tuple[Json, ...]:
    """So many questions, each with its answer."""
    return tuple(m for n in range(rounds) for m in (user(f"question {n}"), assistant(f"answer {n}")))


def transcript(messages: Sequence[Json], fmt: Any = "anthropic", **more: Any) -> Transcript:
    """A transcript of these messages."""
    given = {"id": "t", "file": "f.jsonl", "line": 1, "system": None, "tools": None, **more}
    return Transcript(format=fmt, messages=tuple(messages), **given)


def report(**given: Any) -> Report:
    """A report of a turn that did nothing."""
    plain: dict[str, Any] = {
        "turn": 1,
        "action": Action.KEEP,
        "reason": Reason.BELOW_SOFT,
        "projected": 100,
        "sent": 100,
        "exact": True,
        "context_window": 1_000,
        "soft": 700,
        "hard": 950,
    }
    return Report(**{**plain, **given})


def turn(buffer: Sequence[Message], sent: Sequence[Message] | None = None, **given: Any) -> Turn:
    """A turn that keeps `buffer` and sends it, or something else."""
    swap = given.pop("swap", None)
    return Turn(list(buffer if sent is None else sent), list(buffer), report(**given), swap)


def record(count: int, chunks: Sequence[tuple[int, int]], released: Sequence[int] = ()) -> SummaryRecord:
    """A record at the position after `count` messages, with these chunks."""
    position = Position(count, b"0" * 16)
    return SummaryRecord(
        version=1,
        incarnation="i",
        generation=0,
        base_version=0,
        base=Position(0, b"0" * 16),
        position=position,
        released=tuple(Carried(index=i, digest=DIGEST) for i in released),
        summary=Summary(),
        text="notes",
        coverage=tuple(
            ChunkCoverage(digest=DIGEST, first=first, stop=stop, status=ChunkStatus.SUMMARISED)
            for first, stop in chunks
        ),
        summariser=SummariserName(name="test", fingerprint="f"),
        source_tokens=10,
        summary_tokens=5,
        created_at=0.0,
        job_id="j",
        body=body_digest(position, (), "notes"),
    )


def swapped(before: Sequence[Message], made: SummaryRecord, gone: int) -> tuple[list[Message], Swapped]:
    """The buffer whose first `gone` messages became a summary, and the swap that did it."""
    note = user("summary")
    kept: list[Message] = [note, *before[gone:]]
    return kept, Swapped(made.version, made.position, note, (), gone, made)


class Host:
    """A host that prepares turns by a function of the messages; it remembers what it was asked."""

    def __init__(self, prepare: Callable[[list[Message]], Turn] = turn) -> None:
        self._prepare = prepare
        self.asked: list[list[Message]] = []
        self.given: list[Json] = []

    def prepare(self, messages: Sequence[Message], **given: Any) -> Turn:
        """Prepare a turn."""
        self.asked.append(list(messages))
        self.given.append(given)
        return self._prepare(list(messages))
