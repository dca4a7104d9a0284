"""`--swaps-out`: a JSON line for each turn that changed the buffer, or sent something else than the
buffer."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.transcript import Transcript
from ebbtide_core.dialects.base import Message


def swap_line(transcript: Transcript, step: Step) -> dict[str, Any] | None:
    """Return what is told of a turn, None when kept buffer and sent view are the buffer before it.

    Messages are in the provider's shape. `view` is None when it equals `after`. `carried` are indices in
    `after`.
    """
    turn = step.turn
    after, view = turn.buffer, turn.messages
    if _same(step.before, after) and _same(after, view):
        return None
    return {
        "session": transcript.id,
        "turn": step.number,
        "action": turn.report.action.value,
        "reason": turn.report.reason.value,
        "degraded": turn.report.degraded,
        "system": transcript.system,
        "before": list(step.before),
        "after": list(after),
        "view": None if _same(after, view) else list(view),
        "carried": list(turn.swap.carried) if turn.swap else None,
        "record": turn.swap.record.model_dump(mode="json") if turn.swap else None,
    }


def _same(one: Sequence[Message], other: Sequence[Message]) -> bool:
    return len(one) == len(other) and all(a is b or a == b for a, b in zip(one, other, strict=True))


class SwapsFile:
    """The file of `--swaps-out`; threads may write to it side by side."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("w", encoding="utf-8")
        self._lock = threading.Lock()

    def write(self, transcript: Transcript, step: Step) -> None:
        """Write the turn's line, if it has one. Lone surrogates stay, as escapes."""
        line = swap_line(transcript, step)
        if line is not None:
            text = json.dumps(line, separators=(",", ":"))
            with self._lock:
                self._stream.write(text + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
