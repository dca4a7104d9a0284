"""Hosts that go round their loop in threads, and note what they met."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Final

from ebbtide import Pool, Turn
from ebbtide.turn import Swapped
from tests.processes.talk import MODEL, TENANT, WINDOW, named_in, said

FIRST: Final = 41
"""Messages said before the first turn: just below soft."""

PACE: Final = 0.12
"""Seconds between two turns: hosts are never in step with workers, and a slow machine is not flooded."""


@dataclass
class Host:
    """One session that says more at every turn. All figures are those so far."""

    pool: Pool
    session_id: str
    buffer: list[Any] = field(default_factory=list)
    messages: int = 0
    turns: int = 0
    store_faults: int = 0
    swaps: list[Swapped] = field(default_factory=list)
    raised: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._session = self.pool.session(
            tenant=TENANT, session_id=self.session_id, model=MODEL, context_window=WINDOW
        )
        self._stop = threading.Event()
        self._between = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=self.session_id, daemon=True)
        self._thread.start()

    @property
    def incarnation(self) -> str:
        """The life of the state that the last swap's record is of, "" before the first."""
        return self.swaps[-1].record.incarnation if self.swaps else ""

    def stop(self) -> None:
        """End the loop after its turn."""
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "a host hangs in its turn"

    def _run(self) -> None:
        self._say(FIRST)
        while not self._stop.wait(PACE):
            with self._between:
                self._turn()

    def _turn(self) -> None:
        try:
            turn = self._session.prepare(self.buffer, max_tokens=200)
        except Exception as error:  # noqa: BLE001  whatever it is, a host must not meet it
            self.raised.append(error)
        else:
            self._note(turn)
        self._say(2)
        self.turns += 1

    def _note(self, turn: Turn) -> None:
        self.buffer = list(turn.buffer)
        self.store_faults += any(fault.startswith("store") for fault in turn.report.faults)
        if turn.swap is not None:
            self.swaps.append(turn.swap)

    def _say(self, number: int) -> None:
        for _ in range(number):
            self.buffer.append(said(self.session_id, self.messages))
            self.messages += 1

    def kept(self) -> tuple[int, list[str]]:
        """Return, as it is between two turns, how many messages were said, and which of them the buffer holds
        as they were said.
        """
        with self._between:
            return self.messages, named_in(self.buffer[1:] if self.swaps else self.buffer)
