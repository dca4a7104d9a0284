"""Plays a session's turns under a strategy, and bills what was sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from ebbtide_cli.cost.counted import Counted, Held
from ebbtide_cli.cost.strategy import Strategy
from ebbtide_core.economy.bill import Bill, Part, Request, bill
from ebbtide_core.economy.rates import Rates


@dataclass(frozen=True, slots=True)
class Prices:
    """Rates of the host's model and of the summariser's."""

    host: Rates
    summariser: Rates


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one session cost under one strategy: the host's requests with the provider's cache and without,
    and the summariser's. `over`: requests larger than the window."""

    cached: Bill = field(default_factory=Bill)
    uncached: Bill = field(default_factory=Bill)
    summariser: Bill = field(default_factory=Bill)
    turns: int = 0
    compactions: int = 0
    waits: int = 0
    over: int = 0

    @property
    def dollars(self) -> float:
        """What is paid in all, with the provider's cache."""
        return self.cached.dollars + self.summariser.dollars

    def __add__(self, other: Outcome) -> Outcome:
        """Return the sum of both."""
        return Outcome(
            self.cached + other.cached,
            self.uncached + other.uncached,
            self.summariser + other.summariser,
            self.turns + other.turns,
            self.compactions + other.compactions,
            self.waits + other.waits,
            self.over + other.over,
        )


def played(session: Counted, strategy: Strategy, window: int, prices: Prices) -> Outcome:
    """Return the outcome: before each answer the strategy has its turn, and the session goes on from that."""
    requests = _requests(session, strategy)
    effort = strategy.ground.effort
    return Outcome(
        cached=bill(requests, prices.host),
        uncached=bill(requests, prices.host, cached=False),
        summariser=bill(effort.calls, prices.summariser, cached=False),
        turns=len(requests),
        compactions=effort.compactions,
        waits=effort.waits,
        over=sum(_size(request) > window for request in requests),
    )


def _requests(session: Counted, strategy: Strategy) -> list[Request]:
    fixed = Part("system and tools", session.fixed)
    buffer: list[Held] = []
    requests = []
    for index, held in enumerate(session.messages):
        if buffer and index in session.turns:
            buffer = strategy.turn(buffer)
            requests.append(Request([fixed, *(h.part for h in buffer)], held.tokens))
        buffer = [*buffer, held]
    return requests


def _size(request: Request) -> int:
    return sum(part.tokens for part in request.prompt)
