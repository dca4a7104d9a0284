"""What follows a call that failed: again later, less at once, the route's next hop, or the end. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ebbtide_worker.summarisers.base import FaultKind

MAX_CALLS: Final = 6
"""Calls about one piece on one hop at most, however they fail."""

LEAST_CALL_SECONDS: Final = 1.0
"""No call is begun with less time than this before the deadline: it would be paid and not be answered."""

MAX_RETRY_AFTER_SECONDS: Final = 60.0
"""What a provider asks for beyond this is not waited for: gateways send anything."""

_MOST_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Again:
    """The same call on the same hop, `after` seconds from now."""

    after: float


@dataclass(frozen=True, slots=True)
class Shrink:
    """Calls of less each, in place of this one, on the same hop."""


@dataclass(frozen=True, slots=True)
class NextHop:
    """The same call on a later hop of the route, given by its index."""

    to: int


@dataclass(frozen=True, slots=True)
class Give:
    """No other call: the fault of this kind is how it ends."""

    kind: FaultKind


Step = Again | Shrink | NextHop | Give


@dataclass(frozen=True, slots=True)
class Backoff:
    """Full jitter: a wait is drawn evenly from 0 up to `base` seconds, doubled with each call, at most
    `cap`.
    """

    base: float = 0.5
    cap: float = 8.0

    def wait(self, calls: int, jitter: float) -> float:
        """Return the seconds to wait after so many calls; `jitter` is from 0 up to, not including, 1."""
        return jitter * min(self.cap, self.base * 2.0 ** min(calls - 1, _MOST_DOUBLINGS))


@dataclass(frozen=True, slots=True)
class Following:
    """The next hop of a route that can hold a piece, by index: any, one of another account, one with a larger
    window; None where there is none.
    """

    any: int | None = None
    other_account: int | None = None
    wider: int | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """A failed call: its kind, what the provider asks to wait, and what was tried before.

    `calls` were made about this piece on this hop, this one included; `alike` of them ended in this kind.
    `left` are the seconds until no call may run any more. `shrinkable`: less could be shown in each call.
    """

    kind: FaultKind
    calls: int
    alike: int
    left: float
    retry_after: float | None = None
    shrinkable: bool = False
    following: Following = Following()


_CALLS_OF: Final = {
    FaultKind.RATE_LIMITED: 4,
    FaultKind.OVERLOADED: 4,
    FaultKind.UNAVAILABLE: 4,
    FaultKind.CONNECTION: 4,
    FaultKind.TIMEOUT: 2,
    FaultKind.UNREADABLE: 2,
    FaultKind.EMPTY: 2,
    FaultKind.NOT_JSON: 2,
    FaultKind.SCHEMA: 2,
    FaultKind.TOOL_CALL: 2,
    FaultKind.UNEXPECTED: 2,
}
"""How many calls on one hop may end in a kind; one, when another draw can't help. A time-out has taken long,
and may have been paid.
"""

_DRAWN: Final = frozenset(
    {FaultKind.EMPTY, FaultKind.NOT_JSON, FaultKind.SCHEMA, FaultKind.TOOL_CALL, FaultKind.UNEXPECTED}
)
"""An answer came, and it is the model's: waiting changes nothing, another draw may."""

_SHRINKS: Final = frozenset({FaultKind.TOO_LONG, FaultKind.TOO_LARGE, FaultKind.TRUNCATED})
_WIDER: Final = frozenset({FaultKind.TOO_LONG, FaultKind.TOO_LARGE})
_OF_ACCOUNT: Final = frozenset(
    {FaultKind.RATE_LIMITED, FaultKind.AUTH, FaultKind.SPEND_LIMIT, FaultKind.BLOCKED}
)
"""Kinds that meet every hop of the same account."""

FINAL: Final = frozenset({FaultKind.BAD_REQUEST, FaultKind.BUDGET})
"""Kinds that would meet every call of the job, on any hop."""


def next_step(tried: Tried, backoff: Backoff, jitter: float) -> Step:
    """Return what follows a failed call. `jitter` is a random number from 0 up to, not including, 1.

    Another try comes first, where it can help and leaves time for a call; then less at once, for what was too
    much; then the next hop that is not met by the same; then the end. A wait beyond the backoff's cap, which
    only a provider asks for, comes after the next hop.
    """
    if tried.kind in FINAL or tried.left < LEAST_CALL_SECONDS:
        return Give(tried.kind)
    after = _wait(tried, backoff, jitter)
    onward = _onward(tried)
    if _may_repeat(tried, after) and (after <= backoff.cap or onward is None):
        return Again(after)
    return onward or Give(tried.kind)


def _may_repeat(tried: Tried, after: float) -> bool:
    timely = tried.left - after >= LEAST_CALL_SECONDS
    return timely and tried.alike < _CALLS_OF.get(tried.kind, 1) and tried.calls < MAX_CALLS


def _onward(tried: Tried) -> Step | None:
    if tried.kind in _SHRINKS and tried.shrinkable:
        return Shrink()
    to = _hop(tried.kind, tried.following)
    return None if to is None else NextHop(to)


def _hop(kind: FaultKind, following: Following) -> int | None:
    if kind in _OF_ACCOUNT:
        return following.other_account
    return following.wider if kind in _WIDER else following.any


def _wait(tried: Tried, backoff: Backoff, jitter: float) -> float:
    """Return at least what the provider asked for, and on top of it the jitter that parts the callers."""
    asked = min(tried.retry_after or 0.0, MAX_RETRY_AFTER_SECONDS)
    return asked if tried.kind in _DRAWN else asked + backoff.wait(tried.calls, jitter)
