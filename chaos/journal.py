"""What a host did, one JSON line each, appended and never changed: all that is known of it afterwards.

Times are seconds of the machine's monotonic clock, which all processes share and nobody shifts.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from chaos.spans import Spans

TURN: Final = "turn"
RAISED: Final = "raised"


@dataclass(frozen=True, slots=True)
class Swap:
    """The record of a swap. `again`: it was put into a raw history once more. `message` stands for it in a
    buffer, and is all that a host need store of it; empty for a raw history.

    `covered` are the lineage indices of its chunks, `carried` and `released` those of single messages.
    """

    incarnation: str
    generation: int
    version: int
    body: str
    base: int
    position: int
    covered: Spans
    carried: list[int]
    released: list[int]
    degraded: bool
    again: bool
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. Message numbers are lineage indices; `said` is how many messages there were at its begin.

    `kept` are those that stand in the buffer, `position` is how many its summary stands for (0: none); `sent`
    are those that went out as they are, `left_out` those that the report says were left out or shortened, and
    `summary_sent` whether the buffer's summary went out, or its absence was declared. `broken` are provider
    rules that the request breaks. `took` is what `prepare` took from outside, `waited` what of it was spent
    on waiting for a record. `first`: of this process. `life` is the process's number.
    """

    session: str
    life: int
    at: float
    number: int
    said: int
    raw: bool
    action: str
    reason: str
    degraded: bool
    rung: str
    took: float
    waited: float
    first: bool
    tokens: int
    window: int
    position: int
    kept: Spans
    sent: Spans
    left_out: Spans
    summary_sent: bool
    broken: list[str]
    claim: str = ""
    faults: list[str] = field(default_factory=list)
    swap: Swap | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """An error that a turn raised into the host's loop."""

    session: str
    life: int
    at: float
    error: str


class Journal:
    """Appends to a file, from several threads; a line is whole or, at a kill, cut off at the end."""

    def __init__(self, path: Path) -> None:
        _without_torn_line(path)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._lock = threading.Lock()

    def write(self, entry: Turn | Raised) -> None:
        """Append an entry; what was written survives the process."""
        kind = TURN if isinstance(entry, Turn) else RAISED
        line = json.dumps({"kind": kind, **asdict(entry)}, ensure_ascii=False).encode() + b"\n"
        with self._lock:
            while line:
                line = line[os.write(self._file, line) :]


def _without_torn_line(path: Path) -> None:
    if path.exists():
        whole = path.read_bytes().rfind(b"\n") + 1
        os.truncate(path, whole)


class Reading:
    """Reads a journal while it is written. `more` gives the whole lines since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def more(self) -> list[Turn | Raised]:
        """Return the entries that are new; none while there is no journal."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            whole = file.read().rpartition(b"\n")[0]
        if not whole:
            return []
        self._offset += len(whole) + 1
        return [_entry(json.loads(line)) for line in whole.splitlines()]


def _entry(document: dict[str, Any]) -> Turn | Raised:
    if document.pop("kind") == RAISED:
        return Raised(**document)
    swap = document.pop("swap")
    return Turn(**document, swap=None if swap is None else Swap(**swap))
