"""Hosts in the states that a turn may meet, each ready to prepare one more turn."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from bench.work.talk import conversation
from ebbtide import Pool, Turn
from ebbtide_core.budget.measure import prior_ratio
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.decide import Action, Reason
from ebbtide_core.jsonio import compact

SYSTEM: Final = "You are a careful engineer. " * 40
WORDS: Final = 92
"""Words of a tool result, so that a message weighs 100 tokens on average."""

_MODEL: Final = "claude-bench"
_OUTPUT: Final = 4_096

TURNS: Final = 700
"""Exchanges that a host has in store."""

Messages = list[dict[str, Any]]
Window = Callable[[int], int]
"""The context window for a first request of so many projected tokens."""


class Host:
    """Keeps the buffer of each turn and adds an exchange, as an agent's loop does."""

    def __init__(self, pool: Pool, messages: int, window: Window) -> None:
        rounds = messages // 2
        told = conversation("bench", rounds + TURNS, result_words=WORDS)
        self._coming = iter(_pairs(told[2 * rounds + 1 :]))
        first = told[: 2 * rounds + 1]
        self._session = pool.session(
            tenant="bench",
            session_id=secrets.token_hex(8),
            model=_MODEL,
            context_window=window(_projected(first)),
        )
        self.turn = self.prepare(first)
        self.next: Messages = []
        self.ready()

    def prepare(self, messages: Sequence[Any]) -> Turn:
        """Prepare a turn with these messages."""
        return self._session.prepare(messages, system=SYSTEM, max_tokens=_OUTPUT)

    @property
    def meter(self) -> Meter:
        """What counts this host's messages."""
        return self._session._memory.meter

    @property
    def size(self) -> int:
        """How many messages the next turn has."""
        return len(self.turn.buffer) + 2

    def ready(self) -> None:
        """Get the messages of the next turn ready, which is no part of what is measured."""
        self.next = [*self.turn.buffer, *next(self._coming)]

    def step(self) -> None:
        """Prepare the next turn."""
        self.turn = self.prepare(self.next)


class Stateless(Host):
    """Reads its history from somewhere each turn: equal messages, but none the same object."""

    def ready(self) -> None:
        """Copy all messages."""
        super().ready()
        self.next = copy.deepcopy(self.next)


class Marking(Host):
    """Marks the newest message for the provider's cache, in a copy; the one before is passed without mark."""

    def __init__(self, pool: Pool, messages: int, window: Window) -> None:
        self._kept: Messages = []
        super().__init__(pool, messages, window)

    def ready(self) -> None:
        """Add an exchange and move the mark."""
        self._kept = [*(self._kept or self.turn.buffer), *next(self._coming)]
        newest = copy.deepcopy(self._kept[-1])
        newest["content"][-1]["cache_control"] = {"type": "ephemeral"}
        self.next = [*self._kept[:-1], newest]


class AppendOnly(Host):
    """Keeps the raw history and passes all of it, though a summary stands for most."""

    def __init__(self, pool: Pool, messages: int, window: Window) -> None:
        self._history: Messages = []
        super().__init__(pool, messages, window)

    @property
    def size(self) -> int:
        """How many messages the history will have."""
        return len(self._history or self.turn.buffer) + 2

    def ready(self) -> None:
        """Add an exchange to the history."""
        self._history = [*(self._history or self.turn.buffer), *next(self._coming)]
        self.next = self._history


def pending(host: Host) -> bool:
    """Say whether a compaction of the host is under way and its last turn did not wait for it."""
    return host.turn.report.reason is Reason.JOB_PENDING


def reapplied(host: Host) -> bool:
    """Say whether the last turn put a summary into the raw history."""
    report = host.turn.report
    return report.action is Action.SWAP and report.reason is Reason.REAPPLIED


def _projected(messages: Messages) -> int:
    """Return about how many tokens a request is projected to have."""
    counted = sum(tokenizer().count(compact(message)) for message in messages)
    return int(counted * prior_ratio(_MODEL)) + _OUTPUT


def _pairs(messages: Messages) -> list[Messages]:
    return [messages[at : at + 2] for at in range(0, len(messages) - 1, 2)]
