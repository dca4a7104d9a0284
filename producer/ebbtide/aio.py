"""The async entry point: the same engine, background work and guarantees as the sync one."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Generator, Sequence
from inspect import isawaitable
from types import TracebackType
from typing import Any, Final, Self

from ebbtide.backstop import Backstop, BackstopKind, backstop
from ebbtide.base import (
    CANCEL_FLUSH,
    COMPACT_NOW_TIMEOUT,
    ReportObserver,
    Shared,
    answer_of,
    by_hand,
    cancelling,
    checked_mode,
    engine,
    forked_memory,
    new_memory,
    shared,
    switch,
    told,
    told_unfittable,
)
from ebbtide.lateness import Lateness
from ebbtide.proposal import OnSwap
from ebbtide.turn import Turn
from ebbtide.turns.effects import Ask, Effect, Hand, Learn, Pause, Propose
from ebbtide.turns.engine import TurnEngine
from ebbtide.turns.memory import Memory
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.errors import ContractError, StoreUnavailable, UnfittableRequest
from ebbtide_core.metrics import Recorder
from ebbtide_core.policy import Mode, Policy
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import AsyncStore
from ebbtide_core.store.codec import Codec
from ebbtide_core.store.script import Call

log = logging.getLogger("ebbtide.session")

HELD_UP: Final = 0.4
"""A loop that was late by this share of a call's time-out may have made it fail."""


class AsyncSession:
    """One conversation of one tenant, for one event loop; get it from `AsyncPool.session`. Methods as in
    `Session`."""

    def __init__(self, pool: Shared, store: AsyncStore, memory: Memory) -> None:
        self._pool = pool
        self._store = store
        self._memory = memory

    @property
    def dialect(self) -> str:
        """The name of the format that the session's messages are in."""
        return self._memory.dialect.name

    async def prepare(
        self,
        messages: Sequence[Message],
        *,
        system: Any = None,
        tools: Any = None,
        max_tokens: int | None = None,
        pending_tool_tokens: int = 0,
    ) -> Turn:
        """Return the turn to send now; see `Session.prepare`."""
        run = engine(self._pool, self._memory, messages, system, tools, max_tokens, pending_tool_tokens)
        return await self._turn(run)

    async def compact_now(
        self,
        messages: Sequence[Message],
        *,
        instructions: str = "",
        timeout: float = COMPACT_NOW_TIMEOUT,
        system: Any = None,
        tools: Any = None,
        max_tokens: int | None = None,
    ) -> Turn:
        """Return a turn after a compaction made now; see `Session.compact_now`."""
        wish = by_hand(instructions, timeout)
        run = engine(self._pool, self._memory, messages, system, tools, max_tokens, 0, wish)
        return await self._turn(run)

    async def cancel(self) -> bool:
        """End the compaction that is under way; see `Session.cancel`."""
        await asyncio.to_thread(self._pool.courier.flush, CANCEL_FLUSH)
        run, reply = cancelling(self._memory), None
        while True:
            try:
                call = run.send(reply)
            except StopIteration as stop:
                return bool(stop.value)
            reply = await self._store.run(call)

    def fork(self, session_id: str) -> AsyncSession:
        """Return a session of its own that goes on from the same messages; see `Session.fork`."""
        return AsyncSession(self._pool, self._store, forked_memory(self._pool, self._memory, session_id))

    def switch(self, *, model: str | None = None, context_window: int | None = None) -> None:
        """Go on with another model, another window, or both; see `Session.switch`."""
        switch(self._memory, model, context_window)

    def observe(self, usage: Any) -> None:
        """Calibrate the size estimate with the usage that the provider reported for the last turn."""
        self._memory.observe(usage)

    def backstop(self, kind: BackstopKind = "compaction", *, max_tokens: int | None = None) -> Backstop:
        """Return the provider's own context management as a safety net; see `Session.backstop`."""
        return backstop(self._memory.dialect.name, self._memory.model, self._memory.limits(max_tokens), kind)

    async def reset(self) -> None:
        """Begin a new generation: jobs under way can no longer publish. Raises StoreUnavailable.

        A record already published still applies to a history that holds all it stands for.
        """
        memory = self._memory
        await self._store.run(
            session_calls.reset(
                memory.owner, fresh_incarnation=secrets.token_hex(8), state_ttl=memory.policy.state_ttl
            )
        )
        memory.forget()

    def close(self) -> None:
        """Forget what this host remembers of the session; its state lives on until its TTL."""
        self._memory.forget()

    async def _turn(self, run: TurnEngine) -> Turn:
        try:
            turn = await self._drive(run.run())
        except UnfittableRequest as error:
            raise told_unfittable(self._pool, self._memory, error) from None
        return told(self._pool, self._memory, turn)

    async def _drive(self, run: Generator[Effect, Any, Turn]) -> Turn:
        reply: Any = None
        while True:
            try:
                effect = run.send(reply)
            except StopIteration as stop:
                turn: Turn = stop.value
                return turn
            reply = await self._perform(effect)

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Ask):
            return await self._ask(effect)
        if isinstance(effect, Hand):
            return self._pool.courier.submit(effect.order, self._memory.mailbox)
        if isinstance(effect, Propose):
            return await self._propose(effect)
        if isinstance(effect, Pause):
            await asyncio.sleep(effect.seconds)
            return None
        if isinstance(effect, Learn):
            return self._pool.tenants.of(self._memory.owner.tenant)
        return self._pool.clock()

    async def _propose(self, effect: Propose) -> Any:
        answer = answer_of(self._memory, effect.proposal)
        if not isawaitable(answer):
            return answer
        try:
            return await answer
        except Exception as error:
            log.exception("on_swap failed: the swap is declined")
            return error

    async def _ask(self, effect: Ask) -> Any:
        began = self._pool.clock()
        try:
            reply = await self._asked(effect.call)
        except StoreUnavailable as error:
            self._pool.gate.fault(began, self._pool.clock())
            return error
        except ContractError as error:
            return error
        self._pool.gate.success()
        return reply

    async def _asked(self, call: Call[Any]) -> Any:
        """Run a call; once more if it failed while the loop was held up, since the answer may have been there
        in time."""
        with Lateness() as late:
            try:
                return await self._store.run(call)
            except StoreUnavailable:
                if late.worst < HELD_UP * self._pool.store_timeout:
                    raise
        return await self._store.run(call)


class AsyncPool:
    """A host process's access to an Ebbtide pool from one event loop. Arguments and errors as in `Pool`."""

    def __init__(
        self,
        broker: str,
        state: str | None = None,
        *,
        policy: Policy | None = None,
        mode: Mode | str = Mode.ON,
        recorder: Recorder | None = None,
        on_report: ReportObserver | None = None,
        codec: Codec | None = None,
    ) -> None:
        self._shared = shared(broker, state, policy, mode, recorder, on_report, codec)
        url, timeout = self._shared.state, self._shared.store_timeout
        self._store = AsyncStore(url, timeout=timeout, recorder=self._shared.recorder)

    @property
    def mode(self) -> Mode:
        """How far sessions of this pool go at most; see `Pool.mode`."""
        return self._shared.mode

    @mode.setter
    def mode(self, mode: Mode | str) -> None:
        self._shared.mode = checked_mode(mode)

    def session(
        self,
        *,
        tenant: str,
        session_id: str,
        model: str,
        context_window: int,
        dialect: str | Dialect | None = None,
        policy: Policy | None = None,
        on_swap: OnSwap | None = None,
    ) -> AsyncSession:
        """Return a session; see `Pool.session`."""
        memory = new_memory(self._shared, tenant, session_id, model, context_window, dialect, policy, on_swap)
        return AsyncSession(self._shared, self._store, memory)

    async def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all compactions asked for are enqueued; False when `timeout` seconds did not suffice."""
        return await asyncio.to_thread(self._shared.courier.flush, timeout)

    async def close(self, timeout: float = 5.0) -> None:
        """Finish the background work, at most `timeout` seconds, and close all connections."""
        await asyncio.to_thread(self._shared.courier.close, timeout)
        await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
