"""What calls need beside a summariser: a lease that holds, accounts that admit, bounds, routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from ebbtide_core.metrics import NullRecorder, Recorder
from ebbtide_worker.calls import Bounds, Calls
from ebbtide_worker.retry import Backoff
from ebbtide_worker.routes import FREE, Route, RouteHop
from ebbtide_worker.slots import Slots
from ebbtide_worker.summarisers.base import Summariser, SummariserFault


class Steady:
    """A lease that never runs out."""

    async def confirm(self) -> None:
        """Go on."""


@dataclass
class Admitting:
    """Accounts that admit all but the `refused` ones, and keep what they are asked and told."""

    refused: dict[str, SummariserFault] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    told_of: list[tuple[str, str]] = field(default_factory=list)

    async def admitted(self, account_id: str, *, deadline: float) -> None:
        """Let it through, unless the account is refused."""
        self.asked.append(account_id)
        if account_id in self.refused:
            raise self.refused[account_id]

    async def told(self, account_id: str, fault: SummariserFault | None) -> None:
        """Keep it."""
        self.told_of.append((account_id, fault.kind.value if fault else "ok"))


def hop_of(summariser: Summariser, account: str = "a", window: int = 0) -> RouteHop:
    """A hop that costs nothing."""
    return RouteHop(summariser, window or summariser.window, FREE, account)


def route_of(*summarisers: Summariser) -> Route:
    """A route over these, each with an account of its own."""
    return Route(tuple(hop_of(each, f"account {n}") for n, each in enumerate(summarisers)))


def new_calls(
    accounts: Admitting | None = None,
    *,
    side_by_side: int = 8,
    seconds: float = 60.0,
    each: float = 60.0,
    backoff: Backoff | None = None,
    slots: Slots | None = None,
    recorder: Recorder | None = None,
    lease: Steady | None = None,
    jitter: Callable[[], float] = lambda: 0.5,
) -> Calls:
    """Calls that retry at once, unless told otherwise. Needs a running loop."""
    bounds = Bounds(
        job=asyncio.Semaphore(side_by_side),
        process=slots or Slots(side_by_side),
        each=each,
        until=monotonic() + seconds,
        backoff=backoff or Backoff(0.0, 0.0),
    )
    return Calls(
        lease or Steady(), accounts or Admitting(), bounds, recorder or NullRecorder(), jitter=jitter
    )
