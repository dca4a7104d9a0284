"""A view: what is sent this turn, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ebbtide_core.dialects.base import Message
from ebbtide_core.jsonio import digest
from ebbtide_core.lineage.buffer import Buffer, Kind


class Rung(StrEnum):
    """The steps of the degrade ladder, mildest first."""

    EXTRACTIVE = "extractive"
    TRUNCATED = "truncated"
    CLIPPED = "clipped"
    BARE = "bare"


@dataclass(frozen=True, slots=True)
class Omitted:
    """A run of messages that a view leaves out or shortens: buffer indices `start` up to `stop`, excluded.

    `messages` of them are affected; `digest` (32 hex digits) names exactly which.
    """

    start: int
    stop: int
    messages: int
    digest: str


@dataclass(frozen=True, slots=True)
class View:
    """Messages to send instead of the buffer, in the model's tokens, with every omission declared."""

    rung: Rung
    messages: tuple[Message, ...]
    omitted: tuple[Omitted, ...]
    tokens: int


Count = Callable[[Message], int]
"""The model's tokens of a message that stands in no buffer."""


def omission(buffer: Buffer, indices: Iterable[int]) -> tuple[Omitted, ...]:
    """Return the runs that a set of buffer indices forms, each named by the digests of its messages.

    System messages between two omitted ones don't break a run; they are not counted, since they stay.
    """
    left = sorted(indices)
    if not left:
        return ()
    runs: list[list[int]] = [[left[0]]]
    for i in left[1:]:
        gap = range(runs[-1][-1] + 1, i)
        if all(buffer.entries[g].kind is Kind.SYSTEM for g in gap):
            runs[-1].append(i)
        else:
            runs.append([i])
    return tuple(_run(buffer, run) for run in runs)


def _run(buffer: Buffer, run: Sequence[int]) -> Omitted:
    names = (buffer.entries[i].digest.encode() for i in run)
    return Omitted(run[0], run[-1] + 1, len(run), digest(b"ebbtide/omitted/1", *names).hex())
