"""What a turn asks its shell to do. The engine yields these; the sync and the async shell carry them out."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from ebbtide.proposal import SwapProposal
from ebbtide.turns.order import Order
from ebbtide_core.store.script import Call

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Ask:
    """Run one store call; the answer is its reply, or the StoreUnavailable or ContractError that it failed
    with."""

    call: Call[Any]


@dataclass(frozen=True, slots=True)
class Hand:
    """Hand an order to the background work; answered at once: was it taken?"""

    order: Order


@dataclass(frozen=True, slots=True)
class Propose:
    """Ask the host about a swap; the answer is its own, False when asking it failed."""

    proposal: SwapProposal


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Learn:
    """Tell what is known of the session's tenant, as a TenantStanding."""


@dataclass(frozen=True, slots=True)
class Now:
    """Tell the monotonic time in seconds."""


Effect = Ask | Hand | Propose | Pause | Learn | Now
Effects = Generator[Effect, Any, R]
