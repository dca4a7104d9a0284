"""What a fault is, and one that is planned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaos.fleet import Fleet


class Group(StrEnum):
    """What a fault befalls."""

    WORKER = "worker"
    HOST = "host"
    STORE = "store"
    BROKER = "broker"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault of a schedule: `at` seconds after the begin, `name` befalls `target` for `lasts` seconds.

    `amount`, from 0 to 1, is how much of it, where a fault has a size. `alone`: nothing else happens for a
    while before and after.
    """

    at: float
    name: str
    group: Group
    target: str
    lasts: float
    amount: float
    alone: bool = False


Deed = Callable[["Fleet", Planned], object]


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault. It comes `weight` times as often as one of weight 1, for `least` to `most` seconds.

    `away`: nobody reaches the server meanwhile. `kills`: a worker or host ends, or is stopped for a while.
    `restarts`: the server ends and comes back. `loses`: what it held is gone then.
    """

    name: str
    group: Group
    weight: int
    least: float
    most: float
    apply: Deed
    revert: Deed
    away: bool = False
    kills: bool = False
    restarts: bool = False
    loses: bool = False
