"""Limiter and breaker of one provider account, shared by all workers, as pure rules.

The limiter is not there until the provider limits; then it is a token bucket of one call, refilled at a rate
that is halved when the provider limits again and rises with each call that it answers (additive increase,
multiplicative decrease). A call that has to wait is given a place: places come due in the order in which they
were asked for, at whatever the rate is by then, so that nobody has to ask in a storm. Calls whose places came
due while they slept go one after the other, at the rate.

The breaker closes the account to calls: for a moment when the provider fails again and again, for longer when
it refuses the key or has been paid all that it may. After that one call probes it.

Times are seconds of one clock, passed in; rates are calls a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from ebbtide_core.contract.tenant import BlockReason

FEWEST: Final = 1 / 60
"""The lowest rate."""

DECREASE: Final = 0.5
CUT_EVERY: Final = 1.0
"""The rate is cut once in this time: the callers that were under way all meet the same limit."""

FAST: Final = 0.3
SLOW: Final = 0.015
"""What an answered call adds to the rate, and what it adds near the ceiling; below one call a second as much
less.
"""

NEAR: Final = 0.1
"""How far from the ceiling, as a share of it, is near."""

RAMPING: Final = 0.25
"""The part of either that is added when the provider limits how fast use may rise."""

FELT: Final = 0.2
"""A call that waits for so many seconds in all feels the limit; less is only spacing."""

FELT_FOR: Final = 5.0
"""The rate rises as long as a call felt the limit within this time; else it would rise untried."""

LIFTED_AFTER: Final = 60.0
"""The limit is lifted when no call felt it for so long."""

LONGEST_PAUSE: Final = 60.0
"""What a provider asks for beyond this is not waited for: gateways send anything."""

WINDOW: Final = 5.0
"""The rate lately is that of the last one to two windows."""

STEP: Final = 5.0
"""What was learnt at times further ahead than this is forgotten: the clock was set back, and all that is to
come at some time might not come for as long.
"""

FAILURES_TO_OPEN: Final = 5
PROBE_SECONDS: Final = 60.0
"""How long a probe holds its place when nothing is told of it: its worker is dead, or its call takes long."""

_CLOSED_FOR: Final = {
    BlockReason.PROVIDER_DOWN: (5.0, 60.0),
    BlockReason.AUTH: (60.0, 600.0),
    BlockReason.SPEND_LIMIT: (300.0, 600.0),
}
"""Seconds at first, and at most: each probe that fails doubles them."""

_ALMOST: Final = 1e-9


class Told(StrEnum):
    """What became of a call, as far as it says something about the account.

    ANSWERED: the provider did its part, whatever the answer is worth. LIMITED: too many calls or tokens;
    RAMPED: more than before, too fast. TROUBLE: overloaded, unavailable, no answer. AUTH, SPEND_LIMIT.
    """

    ANSWERED = "answered"
    LIMITED = "limited"
    RAMPED = "ramped"
    TROUBLE = "trouble"
    AUTH = "auth"
    SPEND_LIMIT = "spend_limit"


_CLOSES: Final = {
    Told.TROUBLE: BlockReason.PROVIDER_DOWN,
    Told.AUTH: BlockReason.AUTH,
    Told.SPEND_LIMIT: BlockReason.SPEND_LIMIT,
}


class Verdict(StrEnum):
    """FREE: call, and so may others for a moment. GO: call, this once, after the seconds. WAIT for the
    seconds, then ask again with the ticket. LATE: the wait is longer than the caller's patience; it has no
    place. BLOCKED for the seconds.
    """

    FREE = "free"
    GO = "go"
    WAIT = "wait"
    LATE = "late"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict, with its seconds (not FREE), the place (WAIT) and the reason (BLOCKED)."""

    verdict: Verdict
    seconds: float = 0.0
    ticket: int = 0
    block: BlockReason | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """Calls told of in the window that began at `since`, and in the one before."""

    since: float = 0.0
    count: int = 0
    before: int = 0

    def plus(self, calls: int, now: float) -> Seen:
        """Count calls."""
        if not calls:
            return self
        if now - self.since >= 2 * WINDOW:
            return Seen(now, calls)
        if now - self.since >= WINDOW:
            return Seen(self.since + WINDOW, calls, self.count)
        return replace(self, count=self.count + calls)

    def rate(self, now: float) -> float:
        """Return the rate lately."""
        age = now - self.since
        return (self.before + self.count) / (WINDOW + age if self.before else max(1.0, age))


@dataclass(frozen=True, slots=True)
class Limit:
    """The limiter, once it is there.

    `ceiling` is the rate that the provider last cut, 0 when it has not yet, `cut` when that was. `issued`
    places were given, and `level` of them have come due by `at`; none comes due before `until`. `spaced`:
    no call goes before. `felt`: until when a call felt it, or none may go. `ramp`: the provider limits how
    fast use may rise.
    """

    rate: float
    ceiling: float
    cut: float
    at: float
    felt: float
    until: float = 0.0
    spaced: float = 0.0
    level: float = 0.0
    issued: int = 0
    ramp: bool = False

    def flowed(self, now: float) -> Limit:
        """Let time pass: places come due, at most one that nobody asked for."""
        flowing = max(0.0, now - max(self.at, self.until))
        level = min(self.level + flowing * self.rate, self.issued + 1)
        return replace(self, level=level, at=max(self.at, now))

    def due(self, ticket: int, now: float) -> float:
        """Return the seconds until a place comes due, 0 when it has."""
        missing, pause = ticket - self.level, max(0.0, self.until - now)
        return 0.0 if missing <= _ALMOST and pause <= 0 else _whole(max(0.0, missing) / self.rate + pause)

    def asked(self, ticket: int, waited: float, patience: float, now: float) -> tuple[Limit, Answer]:
        """Answer a call that has a place, or asks for one with a ticket that was never given."""
        here = self.flowed(now)
        mine = ticket if 0 < ticket <= here.issued else here.issued + 1
        wait = here.due(mine, now)
        seconds = wait or _whole(max(0.0, here.spaced - now))
        late = seconds > patience
        if waited + seconds >= FELT:
            here = replace(here, felt=max(here.felt, now if late else now + seconds))
        if late:
            return here, Answer(Verdict.LATE, seconds)
        here = replace(here, issued=max(here.issued, mine))
        if wait:
            return here, Answer(Verdict.WAIT, wait, mine)
        return replace(here, spaced=max(here.spaced, now) + 1 / here.rate), Answer(Verdict.GO, seconds)

    def answered(self, calls: int, now: float) -> Limit:
        """Raise the rate by answered calls, faster where it is far from the ceiling."""
        if not calls or now - self.felt > FELT_FOR:
            return self
        near = abs(self.rate - self.ceiling) < NEAR * self.ceiling
        step = (SLOW if near else FAST) * (RAMPING if self.ramp else 1.0) * min(1.0, self.rate)
        here = self.flowed(now)
        return replace(here, rate=self.rate + calls * step)

    def limited(self, retry_after: float, ramp: bool, now: float) -> Limit:
        """Halve the rate, and empty the bucket until the provider may be asked again."""
        here = self.flowed(now)
        if now - self.cut >= CUT_EVERY:
            here = replace(here, rate=max(FEWEST, DECREASE * here.rate), ceiling=here.rate, cut=now)
        return here.paused(retry_after, ramp, now)

    def paused(self, retry_after: float, ramp: bool, now: float) -> Limit:
        """Take the place that nobody asked for, and let none come due for a while."""
        until = max(self.until, now + min(retry_after, LONGEST_PAUSE))
        felt = max(self.felt, until)
        return replace(self, level=min(self.level, self.issued), until=until, felt=felt, ramp=ramp)


def _whole(seconds: float) -> float:
    """Return whole milliseconds, rounded up: who comes back by then is not too early by a rounding."""
    return math.ceil(1000 * seconds) / 1000


def first_limit(lately: float, retry_after: float, ramp: bool, now: float) -> Limit:
    """Return the limiter that appears when the provider limits calls at the rate that there was lately."""
    limit = Limit(rate=max(FEWEST, DECREASE * lately), ceiling=0.0, cut=now, at=now, felt=now)
    return limit.paused(retry_after, ramp, now)


@dataclass(frozen=True, slots=True)
class Gate:
    """The breaker: `failures` in a row while it is closed; else why no call is let through, until when, and
    for how long it was shut. A probe holds its place until `probe`.
    """

    failures: int = 0
    block: BlockReason | None = None
    until: float = 0.0
    seconds: float = 0.0
    probe: float = 0.0

    def left(self, now: float) -> float:
        """Return for how long no call is let through, 0 when one is. Of a probe under way nobody knows when
        it ends; it is asked for again soon.
        """
        if self.block is None:
            return 0.0
        if now < self.until:
            return self.until - now
        return min(max(0.0, self.probe - now), _CLOSED_FOR[BlockReason.PROVIDER_DOWN][0])

    def passed(self, now: float) -> Gate:
        """Let a call through: the probe, unless it is closed."""
        return self if self.block is None else replace(self, probe=now + PROBE_SECONDS)

    def answered(self, now: float) -> Gate:
        """Close it, unless it is shut: an answer by then is of a call that was begun before."""
        return self if self.block is not None and now < self.until else Gate()

    def failed(self, reason: BlockReason, retry_after: float | None, now: float) -> Gate:
        """Count a failure, or shut it. While it is shut, only the account's own failures tell something new,
        and only while it was the provider's.
        """
        down = reason is BlockReason.PROVIDER_DOWN
        shut = self.block is not None and now < self.until
        if shut and (down or self.block is not BlockReason.PROVIDER_DOWN):
            return self
        if down and self.block is None and self.failures + 1 < FAILURES_TO_OPEN:
            return replace(self, failures=self.failures + 1)
        return self._shut(reason, retry_after, now)

    def _shut(self, reason: BlockReason, retry_after: float | None, now: float) -> Gate:
        first, most = _CLOSED_FOR[reason]
        seconds = min(most, 2 * self.seconds) if self.block is reason else first
        if retry_after is not None and reason is not BlockReason.PROVIDER_DOWN:
            seconds = min(most, max(1.0, retry_after))
        return Gate(block=reason, until=now + seconds, seconds=seconds)


@dataclass(frozen=True, slots=True)
class Standing:
    """How an account stands. `rate` None: no limit. `waiting`: places given that have not come due.
    `paused`: seconds for which the provider wants to be left alone. `failures` in a row. `block` for
    `block_seconds` more; 0 with a reason: a probe decides.
    """

    rate: float | None = None
    waiting: int = 0
    paused: float = 0.0
    failures: int = 0
    block: BlockReason | None = None
    block_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Account:
    """All that workers know together of a provider account."""

    seen: Seen = field(default_factory=Seen)
    limit: Limit | None = None
    gate: Gate = field(default_factory=Gate)

    @property
    def free(self) -> bool:
        """Say whether nothing stands in the way of any number of calls."""
        return self.limit is None and self.gate == Gate()

    def admit(
        self, now: float, *, ticket: int = 0, waited: float = 0.0, patience: float, answered: int = 0
    ) -> tuple[Account, Answer]:
        """Answer a call that is about to be made. `ticket` is the place it was given, 0 at first. It has
        waited for so many seconds, and can wait for `patience` more. `answered` calls were answered while the
        account was free, and not told yet.
        """
        here = self._aged(now)._counted(answered, now)
        left = here.gate.left(now)
        if left > 0:
            return here, Answer(Verdict.BLOCKED, left, block=here.gate.block)
        answer = Answer(Verdict.FREE if here.free else Verdict.GO)
        if here.limit is not None:
            limit, answer = here.limit.asked(ticket, waited, patience, now)
            here = replace(here, limit=limit)
        if answer.verdict in {Verdict.WAIT, Verdict.LATE}:
            return here, answer
        return replace(here, gate=here.gate.passed(now)), answer

    def told(self, what: Told, now: float, *, retry_after: float | None = None, answered: int = 0) -> Account:
        """Learn what became of a call, after `answered` others that were answered."""
        here = self._aged(now)._counted(answered, now)
        if what is Told.ANSWERED:
            return replace(here._counted(1, now), gate=here.gate.answered(now))
        here = replace(here, seen=here.seen.plus(1, now))
        if what in _CLOSES:
            return replace(here, gate=here.gate.failed(_CLOSES[what], retry_after, now))
        return here._limited(retry_after or 0.0, what is Told.RAMPED, now)

    def standing(self, now: float) -> Standing:
        """Return how it stands, for people."""
        here = self._aged(now)
        gate = here.gate
        found = Standing(failures=gate.failures, block=gate.block)
        if gate.block is not None:
            found = replace(found, block_seconds=max(0.0, gate.until - now))
        if here.limit is None:
            return found
        limit = here.limit.flowed(now)
        waiting = max(0, limit.issued - math.floor(limit.level))
        return replace(found, rate=limit.rate, waiting=waiting, paused=max(0.0, limit.until - now))

    def _aged(self, now: float) -> Account:
        at = self.limit.at if self.limit else 0.0
        if now + STEP < max(self.seen.since, at, self.gate.until - self.gate.seconds):
            return Account()
        lifted = self.limit is not None and now - self.limit.felt >= LIFTED_AFTER
        return replace(self, limit=None) if lifted else self

    def _counted(self, calls: int, now: float) -> Account:
        """Count answered calls. They end no probe: they may have been begun before it."""
        if not calls:
            return self
        gate = self.gate if self.gate.block is not None else Gate()
        limit = self.limit and self.limit.answered(calls, now)
        return Account(self.seen.plus(calls, now), limit, gate)

    def _limited(self, retry_after: float, ramp: bool, now: float) -> Account:
        """A provider that limits is up, and knows the key."""
        if self.limit is None:
            limit = first_limit(self.seen.rate(now), retry_after, ramp, now)
        else:
            limit = self.limit.limited(retry_after, ramp, now)
        return replace(self, limit=limit, gate=self.gate.answered(now))
