"""The paid calls of one attempt: bounded in number and time, retried by rule, each only while the attempt may
go on, all of them counted.
"""

from __future__ import annotations

import asyncio
from asyncio import Semaphore
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import SystemRandom
from time import monotonic
from typing import Final, Protocol

from ebbtide_core import metrics
from ebbtide_core.contract.record import Usage
from ebbtide_core.metrics import Recorder
from ebbtide_worker.cancelling import cancelled
from ebbtide_worker.retry import (
    LEAST_CALL_SECONDS,
    Again,
    Backoff,
    NextHop,
    Shrink,
    Step,
    Tried,
    next_step,
)
from ebbtide_worker.routes import Route, RouteHop, price
from ebbtide_worker.slots import Slots
from ebbtide_worker.summarisers.base import FaultKind, Partial, Summariser, SummariserFault, total
from ebbtide_worker.verdict import DEADLINE, Stop

Ask = Callable[[Summariser], Awaitable[Partial]]
"""Makes one call of a summariser."""

_DIRECTIONS: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_tokens": "cache_read",
    "cache_write_tokens": "cache_write",
}
_CANCELLED: Final = "cancelled"
"""The outcome of a call that the attempt's end cut off."""

_RANDOM: Final = SystemRandom()
_STEPS: Final = {Again: "again", Shrink: "shrink", NextHop: "next_hop"}


class Leased(Protocol):
    """Knows whether an attempt may go on."""

    async def confirm(self) -> None:
        """Raise Stop when it has to end."""


class Admission(Protocol):
    """Knows how much a provider's account may be asked."""

    async def admitted(self, account_id: str, *, deadline: float) -> None:
        """Wait until a call may be made. Raises SummariserFault (BLOCKED) when there will be none by then."""

    async def told(self, account_id: str, fault: SummariserFault | None) -> None:
        """Take in how a call ended."""


class Halted(Exception):
    """A call that was not begun, or a wait that was given up, since another of the job had failed."""


class TooMuch(Exception):
    """The call has to be made in smaller pieces, from this hop of the route on; else the fault is its end."""

    def __init__(self, hop: int, fault: SummariserFault) -> None:
        self.hop = hop
        self.fault = fault
        super().__init__(hop)


@dataclass(frozen=True, slots=True)
class Piece:
    """What a call is about: its size in tokens, the hop that is asked first, and whether it could be made in
    smaller pieces.
    """

    size: int
    start: int = 0
    shrinkable: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A call's partial, and the hop of the route that gave it."""

    partial: Partial
    hop: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """What bounds the calls of an attempt: how many side by side in the job and in the process, how many
    seconds each, when (clock time) all have to be over, and the waits between them.
    """

    job: Semaphore
    process: Slots
    each: float
    until: float
    backoff: Backoff = field(default_factory=Backoff)


class Calls:
    """Runs calls of summarisers. `usage` and `dollars` are what was paid so far; of `uncertain` calls nobody
    knows whether they were.
    """

    def __init__(
        self,
        lease: Leased,
        accounts: Admission,
        bounds: Bounds,
        recorder: Recorder,
        *,
        jitter: Callable[[], float] = _RANDOM.random,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._lease = lease
        self._accounts = accounts
        self._bounds = bounds
        self._process = bounds.process.join()
        self._recorder = recorder
        self._jitter = jitter
        self._clock = clock
        self._halted = asyncio.Event()
        self._all_halted = False
        self.usage = Usage()
        self.dollars = 0.0
        self.uncertain = 0

    def halt(self, *, admitted: bool = True) -> None:
        """Begin no other call and end all waiting; calls under way end by themselves.

        Unless `admitted` calls are meant too, one that its account has let through is made: it may be the
        probe for which the account refused the others, and nobody else would make one for a while.
        """
        self._all_halted |= admitted
        self._halted.set()

    async def run(self, route: Route, ask: Ask, piece: Piece) -> Answer:
        """Return the answer to a call, made again and on later hops as `retry.next_step` says.

        Raises Stop, without calling, when the attempt has to end; Halted; TooMuch; SummariserFault.
        """
        at, kinds = piece.start, Counter[FaultKind]()
        while True:
            try:
                return Answer(await self._one(route.hops[at], ask), at)
            except SummariserFault as error:
                fault = error
            kinds[fault.kind] += 1
            step = self._step(route, at, piece, fault, kinds)
            match step:
                case Again(after):
                    await self._unless_halted(asyncio.sleep(after))
                case NextHop(to):
                    at, kinds = to, Counter()
                case Shrink():
                    raise TooMuch(at, fault)
                case _:
                    raise fault

    def _step(
        self, route: Route, at: int, piece: Piece, fault: SummariserFault, kinds: Counter[FaultKind]
    ) -> Step:
        tried = Tried(
            kind=fault.kind,
            calls=kinds.total(),
            alike=kinds[fault.kind],
            left=self._left,
            retry_after=fault.retry_after,
            shrinkable=piece.shrinkable,
            following=route.following(at, piece.size),
        )
        step = next_step(tried, self._bounds.backoff, self._jitter())
        self._recorder.count(metrics.SUMMARISER_RETRIES, step=_STEPS.get(type(step), "give"))
        return step

    async def _one(self, hop: RouteHop, ask: Ask) -> Partial:
        """Make one call. No slot of the process is held while its account is waited for, nor afterwards."""
        async with self._bounds.job:
            await self._admitted(hop)
            async with self._process:
                await self._lease.confirm()
                answer = await self._called(hop, ask)
            await self._tell(hop, answer)
        if isinstance(answer, SummariserFault):
            raise answer
        return answer

    async def _admitted(self, hop: RouteHop) -> None:
        if self._halted.is_set():
            raise Halted
        if hop.account:
            deadline = self._bounds.until - LEAST_CALL_SECONDS
            await self._unless_halted(self._accounts.admitted(hop.account, deadline=deadline))

    async def _tell(self, hop: RouteHop, answer: Partial | SummariserFault) -> None:
        """Tell the account how a call ended. A key that this worker did not find says nothing about it: no
        call was made, and other workers may have the key. Nor does a call that the job had no more time for.
        """
        fault = answer if isinstance(answer, SummariserFault) else None
        keyless = fault is not None and fault.kind is FaultKind.AUTH and not fault.usage.calls
        cut_short = fault is not None and fault.kind is FaultKind.TIMEOUT and self._left <= 0
        if hop.account and not (keyless or cut_short):
            await self._accounts.told(hop.account, fault)

    async def _called(self, hop: RouteHop, ask: Ask) -> Partial | SummariserFault:
        """Return what a call gave, or how it failed; either is counted and paid, as is one that is
        cancelled.
        """
        if self._all_halted:
            raise Halted
        if self._left <= 0:
            raise Stop(DEADLINE)
        answer: Partial | SummariserFault
        try:
            async with asyncio.timeout(min(self._bounds.each, self._left)):
                answer = await ask(hop.summariser)
        except TimeoutError:
            told = "no answer in time"
            answer = SummariserFault(FaultKind.TIMEOUT, told, Usage(calls=1), uncertain=True)
        except SummariserFault as fault:
            answer = fault
        except asyncio.CancelledError:
            self._count(_CANCELLED, Usage(calls=1), uncertain=True)
            raise
        self._note(hop, answer)
        return answer

    def _count(self, outcome: str, usage: Usage, *, uncertain: bool) -> None:
        self._recorder.count(metrics.SUMMARISER_CALLS, outcome=outcome)
        self.uncertain += uncertain
        self.usage = total((self.usage, usage))

    def _note(self, hop: RouteHop, answer: Partial | SummariserFault) -> None:
        fault = answer if isinstance(answer, SummariserFault) else None
        outcome = fault.kind.value if fault else "ok"
        self._count(outcome, answer.usage, uncertain=fault is not None and fault.uncertain)
        self.dollars += price(answer.usage, hop.rates)
        for name, direction in _DIRECTIONS.items():
            if getattr(answer.usage, name):
                self._recorder.count(metrics.JOB_TOKENS, getattr(answer.usage, name), direction=direction)

    @property
    def _left(self) -> float:
        return self._bounds.until - self._clock()

    async def _unless_halted(self, waiting: Awaitable[None]) -> None:
        """Wait for it, but no longer than calls are begun. Raises Halted."""
        awaited = asyncio.ensure_future(waiting)
        halted = asyncio.ensure_future(self._halted.wait())
        try:
            await asyncio.wait({awaited, halted}, return_when=asyncio.FIRST_COMPLETED)
            if not awaited.done():
                raise Halted
            awaited.result()
        finally:
            await cancelled(awaited, halted)
