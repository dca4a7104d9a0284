"""What the workers asked the stand-in for, and a stand-in that holds requests back."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final

from tests.processes.workers import whose
from tests.standin import Behaviour, StandIn
from tests.standin.behaviour import Script

HELD_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Call:
    """One call: by which worker, which messages were shown, how it ended (`pending`: not yet)."""

    worker: str
    names: tuple[str, ...]
    merge: bool
    outcome: str


def calls(standin: StandIn) -> list[Call]:
    """Return all calls so far, in order."""
    return [_call(entry) for entry in standin.log.read()]


def settled(standin: StandIn) -> list[Call]:
    """Return all calls, once each has ended."""
    return [_call(entry) for entry in standin.control.requests(settled=True, wait=30)]


def maps(found: list[Call]) -> list[Call]:
    """Return the calls that summarised a chunk."""
    return [call for call in found if not call.merge]


def _call(entry: dict[str, Any]) -> Call:
    fields = entry["body"]["output_config"]["format"]["schema"]["required"]
    return Call(whose(entry["key"]), tuple(entry["ids"]), "completed" not in fields, entry["outcome"])


class Gate(Script):
    """Holds back requests whose prompt contains a text, until the text is let through."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, threading.Event] = {}

    def hold(self, text: str) -> None:
        """Hold back what contains the text from now on."""
        self._held[text] = threading.Event()

    def let(self, text: str) -> None:
        """Let it through."""
        self._held[text].set()

    def open(self) -> None:
        """Let everything through."""
        for opened in self._held.values():
            opened.set()

    def next(self, prompt: str) -> Behaviour:
        """Choose a behaviour once nothing holds the request back."""
        for text, opened in list(self._held.items()):
            if text in prompt:
                opened.wait(HELD_SECONDS)
        return super().next(prompt)
