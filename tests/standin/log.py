"""What the stand-in was asked and how it ended."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any

PENDING = "pending"
CLIENT_GONE = "client_gone"
BROKEN = "broken"
MOST = 100_000
"""Requests that the log holds; older ones are forgotten."""


@dataclass
class Entry:
    """One request to the API.

    `at`, `ended`: seconds since the epoch (0: not yet). `key`: a digest of the API key. `body`: the request,
    text if it was no JSON, "" if it was too large or bodies are not kept. `betas`: the names in its
    `anthropic-beta`. `in_flight`: how many requests had not ended when it arrived, itself included. `ids`:
    the `MSGID-…` it held. `outcome`: the behaviour's kind (for a limit that was met: of its error),
    `rejected` for a request that the API would reject, `counted`, `pending`, `client_gone`, or `broken` for a
    fault of the stand-in itself. `status`: of the response, 0 without one. `usage`: what the client was told
    that it pays.
    """

    number: int
    path: str
    at: float
    key: str
    body: Any
    betas: list[str]
    in_flight: int
    ids: list[str] = field(default_factory=list)
    outcome: str = PENDING
    status: int = 0
    usage: dict[str, Any] | None = None
    ended: float = 0.0

    @property
    def request_id(self) -> str:
        """The id that the response's header tells."""
        return f"req_standin_{self.number}"


class Log:
    """The latest requests in the order of their arrival; safe to use from threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._entries: deque[Entry] = deque(maxlen=MOST)
        self._count = 0
        self._open = 0

    def start(self, path: str, key: str, body: Any, betas: list[str]) -> Entry:
        """Add a request that has just arrived."""
        with self._changed:
            self._count += 1
            self._open += 1
            entry = Entry(self._count, path, time.time(), key, body, betas, self._open)
            self._entries.append(entry)
            self._changed.notify_all()
        return entry

    def end(self, entry: Entry, outcome: str, status: int = 0, usage: dict[str, Any] | None = None) -> None:
        """Note how a request ended."""
        with self._changed:
            entry.outcome, entry.status, entry.usage = outcome, status, usage
            entry.ended = time.time()
            self._open -= 1
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget all requests; numbers go on."""
        with self._changed:
            self._entries.clear()

    def read(self, *, count: int = 0, settled: bool = False, wait: float = 0.0) -> list[dict[str, Any]]:
        """Return all requests once there are `count`, all ended if `settled`, or after `wait` seconds."""

        def ready() -> bool:
            return len(self._entries) >= count and not (settled and any(not e.ended for e in self._entries))

        with self._changed:
            self._changed.wait_for(ready, timeout=wait)
            return [asdict(entry) for entry in self._entries]
