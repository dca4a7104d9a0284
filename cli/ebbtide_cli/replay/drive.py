"""Drives one transcript as a host would: prepare before each assistant message, keep the buffer, append."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ebbtide.turn import Turn
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.dialects.base import Message
from ebbtide_core.errors import UnfittableRequest

NEUTRAL_MODEL: Final = "replay"
"""The model's name when none is given: its tokens are counted as they are, no ratio of a model applies."""


class Host(Protocol):
    """What is driven: an `ebbtide.Session`."""

    def prepare(
        self, messages: Sequence[Message], *, system: Any, tools: Any, max_tokens: int | None
    ) -> Turn:
        """Prepare one turn."""


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of a replay.

    `number` counts from 1. `raw` is how many messages of the transcript lie before it. `before` is the buffer
    that was passed. `unfittable`: `turn` is what UnfittableRequest carried. `stall` is how long prepare took,
    in seconds.
    """

    number: int
    raw: int
    before: Sequence[Message]
    turn: Turn
    unfittable: bool
    stall: float


Pause = Callable[[], object]
"""Called before each turn: sleeps for the pace, may raise to end the replay."""


def steps(transcript: Transcript, host: Host, *, max_tokens: int | None, pause: Pause) -> Iterator[Step]:
    """Yield each turn of the transcript. Raises InputError, LimitError for what `prepare` refuses."""
    buffer: list[Message] = []
    turns = {index: number for number, index in enumerate(transcript.turns, 1)}
    for index, message in enumerate(transcript.messages):
        number = turns.get(index)
        if number is not None:
            pause()
            step = _step(transcript, host, number, index, buffer, max_tokens)
            yield step
            buffer = list(step.turn.buffer)
        buffer.append(message)


def _step(
    transcript: Transcript, host: Host, number: int, raw: int, before: list[Message], max_tokens: int | None
) -> Step:
    began = time.perf_counter()
    unfittable = False
    try:
        turn = host.prepare(before, system=transcript.system, tools=transcript.tools, max_tokens=max_tokens)
    except UnfittableRequest as error:
        turn, unfittable = error.turn, True
    return Step(number, raw, before, turn, unfittable, time.perf_counter() - began)
