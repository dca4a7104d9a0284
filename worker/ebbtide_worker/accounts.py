"""How much the providers' accounts may be asked: what this process knows, and what all workers know."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from ebbtide_core import metrics
from ebbtide_core.contract.tenant import BlockReason
from ebbtide_core.errors import EbbtideError
from ebbtide_core.limiter import Answer, Told, Verdict
from ebbtide_core.metrics import Recorder
from ebbtide_core.recent import Recent
from ebbtide_core.store import account_calls
from ebbtide_worker.patience import Store
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault

log = logging.getLogger("ebbtide.worker")

FREE_SECONDS: Final = 1.0
"""For how long an account that was free is taken to be free. Calls answered meanwhile are told together with
what comes next, if that comes as soon.
"""

LEAST_SECONDS: Final = 1.0
"""What a call that is not admitted is told to wait at least."""

MAX_ACCOUNTS: Final = 1_000
"""Accounts that are remembered; the one used longest ago is forgotten first."""

_MEANT: Final = {
    FaultKind.RATE_LIMITED: Told.LIMITED,
    FaultKind.OVERLOADED: Told.TROUBLE,
    FaultKind.UNAVAILABLE: Told.TROUBLE,
    FaultKind.TIMEOUT: Told.TROUBLE,
    FaultKind.CONNECTION: Told.TROUBLE,
    FaultKind.UNREADABLE: Told.TROUBLE,
    FaultKind.AUTH: Told.AUTH,
    FaultKind.SPEND_LIMIT: Told.SPEND_LIMIT,
    FaultKind.BLOCKED: None,
    FaultKind.BUDGET: None,
    FaultKind.UNEXPECTED: None,
}
"""What a fault says about the account, None: nothing. Any other: the provider answered."""

_ADVICE: Final = {
    BlockReason.AUTH: "the provider refuses its key: check the key and what it may use",
    BlockReason.SPEND_LIMIT: "its spend limit is reached: raise the limit, or add credit",
    BlockReason.PROVIDER_DOWN: "the provider failed several times in a row",
}
_NEVER: Final = float("-inf")
_LATE: Final = "the provider limits its calls, and there are more than can be made in time"


@dataclass
class _Known:
    """What the process knows of an account.

    It is taken to be free until `free_until` (clock time). `answered` calls were answered since that was
    asked, the last of them at `answered_at`. One call that is to be admitted holds `asking`, behind it there
    is a `line`; the last turns took so many seconds.
    """

    free_until: float = _NEVER
    answered: int = 0
    answered_at: float = _NEVER
    line: int = 0
    turns: deque[float] = field(default_factory=lambda: deque(maxlen=2))
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def wait(self) -> float:
        """Return about how many seconds another call would wait, rather too few: one pause of the provider
        does not tell how long turns take.
        """
        ahead = self.line + self.asking.locked()
        return (ahead + 1) * min(self.turns, default=0.0) if ahead else 0.0


class Accounts:
    """The limiters and breakers of provider accounts. Belongs to one event loop.

    Of an account that is free, the store is asked or told at most once in `FREE_SECONDS`; of another at each
    call. While the store is away calls are let go.
    """

    def __init__(
        self,
        store: Store,
        recorder: Recorder,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._clock = clock
        self._sleep = sleep
        self._accounts: Recent[str, _Known] = Recent(MAX_ACCOUNTS, _Known)

    async def admitted(self, account_id: str, *, deadline: float) -> None:
        """Return when a call may be made, at `deadline` (clock time) at the latest.

        Raises SummariserFault (BLOCKED, with `block` and `retry_after`) when it may not: the account is
        blocked, or its limiter has no place in time.
        """
        known, began = self._accounts[account_id], self._clock()
        if self._free(known):
            return
        patience = max(0.0, deadline - began)
        answer = Answer(Verdict.LATE, known.wait)
        if known.wait <= patience and await self._joined(known, patience):
            try:
                answer = await self._turn(account_id, known, began, deadline)
            finally:
                known.asking.release()
        if answer.verdict in {Verdict.LATE, Verdict.BLOCKED}:
            raise self._refusal(account_id, answer)
        if answer.verdict is Verdict.GO:
            self._recorder.observe(metrics.ACCOUNT_WAITS, self._clock() - began)

    async def told(self, account_id: str, fault: SummariserFault | None) -> None:
        """Take in how a call that was made ended. Never raises for a fault of the store."""
        what = _meaning(fault)
        if what is None:
            return
        known = self._accounts[account_id]
        if what is not Told.ANSWERED:
            known.free_until = _NEVER
        elif self._free(known):
            known.answered, known.answered_at = known.answered + 1, self._clock()
            return
        elif known.free_until > _NEVER:
            known.free_until = self._clock() + FREE_SECONDS
        await self._tell(account_id, known, what, fault.retry_after if fault else None)

    async def _joined(self, known: _Known, patience: float) -> bool:
        """Wait in the process's line. Says whether the caller is at its head now, in time."""
        known.line += 1
        try:
            async with asyncio.timeout(patience):
                return await known.asking.acquire()
        except TimeoutError:
            return False
        finally:
            known.line -= 1

    async def _turn(self, account_id: str, known: _Known, since: float, deadline: float) -> Answer:
        """Wait for a place of the limiter. The process asks for one at a time: so the places go round among
        the processes, and few of them are asked for twice.
        """
        ticket, began = 0, self._clock()
        while not self._free(known):
            answer = await self._ask(account_id, known, ticket, since, deadline)
            if answer.verdict in {Verdict.WAIT, Verdict.GO}:
                await self._sleep(answer.seconds)
            if answer.verdict is Verdict.GO:
                known.turns.append(self._clock() - began)
            if answer.verdict is not Verdict.WAIT:
                return answer
            ticket = answer.ticket
        return Answer(Verdict.FREE)

    async def _ask(
        self, account_id: str, known: _Known, ticket: int, since: float, deadline: float
    ) -> Answer:
        now, answered = self._clock(), self._untold(known)
        try:
            call = account_calls.admit(
                account_id, ticket=ticket, waited=now - since, patience=deadline - now, answered=answered
            )
            answer = await self._store.run(call)
        except EbbtideError as error:
            log.warning("the limiter of %s was not asked, the call is made: %s", account_id, error)
            answer = Answer(Verdict.FREE)
        if answer.verdict is Verdict.FREE:
            known.free_until = self._clock() + FREE_SECONDS
        return answer

    async def _tell(self, account_id: str, known: _Known, what: Told, retry_after: float | None) -> None:
        answered = self._untold(known)
        try:
            call = account_calls.told(account_id, what, retry_after=retry_after, answered=answered)
            free = await self._store.run(call)
        except EbbtideError as error:
            log.warning("the limiter of %s was not told of a call: %s", account_id, error)
            free = True
        known.free_until = self._clock() + FREE_SECONDS if free else _NEVER

    def _free(self, known: _Known) -> bool:
        return self._clock() < known.free_until

    def _untold(self, known: _Known) -> int:
        """Take the calls that were answered and not told; those of long ago say nothing any more."""
        fresh = self._clock() - known.answered_at <= FREE_SECONDS
        answered, known.answered = known.answered, 0
        return answered if fresh else 0

    def _refusal(self, account_id: str, answer: Answer) -> SummariserFault:
        """Return the fault of a call that is not made. Too long a line is, to a tenant, a provider that is
        not there.
        """
        why = answer.block.value if answer.block else Verdict.LATE.value
        self._recorder.count(metrics.ACCOUNT_BLOCKED, reason=why)
        said = _ADVICE[answer.block] if answer.block else _LATE
        return SummariserFault(
            FaultKind.BLOCKED,
            f"account {account_id}: {said}; {answer.seconds:.0f} s left",
            retry_after=max(LEAST_SECONDS, answer.seconds),
            block=answer.block or BlockReason.PROVIDER_DOWN,
        )


def _meaning(fault: SummariserFault | None) -> Told | None:
    if fault is None:
        return Told.ANSWERED
    if fault.ramp:
        return Told.RAMPED
    return _MEANT.get(fault.kind, Told.ANSWERED)
