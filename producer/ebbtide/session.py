"""The sync shell of one session."""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator, Sequence
from typing import Any

from ebbtide.backstop import Backstop, BackstopKind, backstop
from ebbtide.base import (
    CANCEL_FLUSH,
    COMPACT_NOW_TIMEOUT,
    Shared,
    answer_of,
    by_hand,
    cancelling,
    engine,
    forked_memory,
    switch,
    told,
    told_unfittable,
)
from ebbtide.turn import Turn
from ebbtide.turns.effects import Ask, Effect, Hand, Learn, Pause, Propose
from ebbtide.turns.engine import TurnEngine
from ebbtide.turns.memory import Memory
from ebbtide_core.dialects.base import Message
from ebbtide_core.errors import ContractError, StoreUnavailable, UnfittableRequest
from ebbtide_core.store import session_calls
from ebbtide_core.store.client import SyncStore


class Session:
    """One conversation of one tenant. Use it from one thread at a time; get it from `Pool.session`."""

    def __init__(self, pool: Shared, store: SyncStore, memory: Memory) -> None:
        self._pool = pool
        self._store = store
        self._memory = memory

    @property
    def dialect(self) -> str:
        """The name of the format that the session's messages are in."""
        return self._memory.dialect.name

    def prepare(
        self,
        messages: Sequence[Message],
        *,
        system: Any = None,
        tools: Any = None,
        max_tokens: int | None = None,
        pending_tool_tokens: int = 0,
    ) -> Turn:
        """Return the turn to send now: `turn.messages` to the model, `turn.buffer` to keep, `turn.report` to
        read.

        `messages` is the buffer kept from the last turn, or the raw history; it is never changed.
        `max_tokens` is the output that the request asks for, `pending_tool_tokens` the size of a result still
        to be added. Raises InputError or LimitError for messages that are no conversation, UnfittableRequest
        when no view fits the window. No fault of store, broker, worker or provider raises.
        """
        run = engine(self._pool, self._memory, messages, system, tools, max_tokens, pending_tool_tokens)
        return self._turn(run)

    def compact_now(
        self,
        messages: Sequence[Message],
        *,
        instructions: str = "",
        timeout: float = COMPACT_NOW_TIMEOUT,
        system: Any = None,
        tools: Any = None,
        max_tokens: int | None = None,
    ) -> Turn:
        """Return a turn as `prepare` does, after a compaction made now, whatever the size of the request.

        Everything before the tail is summarised, unless a record is ready already: then that is swapped in. A
        job under way is waited for as it is, without the new instructions.
        `instructions` tell the summariser what to keep (at most 4,000 characters; the extractive one follows
        none). Waits at most `timeout` seconds; what could not be had changes nothing, and `turn.report` says
        why. Raises as `prepare` does.
        """
        wish = by_hand(instructions, timeout)
        run = engine(self._pool, self._memory, messages, system, tools, max_tokens, 0, wish)
        return self._turn(run)

    def cancel(self) -> bool:
        """End the compaction that is under way; False when there is none. Raises StoreUnavailable.

        A worker stops at its next check. A record that it publishes before that still counts.
        """
        self._pool.courier.flush(CANCEL_FLUSH)
        run, reply = cancelling(self._memory), None
        while True:
            try:
                call = run.send(reply)
            except StopIteration as stop:
                return bool(stop.value)
            reply = self._store.run(call)

    def fork(self, session_id: str) -> Session:
        """Return a session of its own that goes on from the same messages: a branch of the conversation.

        Model, window, policy and calibration are this session's, and results once left out stay so. The
        buffer kept here, summary and all, is good there; records are not shared, so a raw history is
        summarised again there, from the same partial summaries. Raises InputError or LimitError for the name.
        """
        return Session(self._pool, self._store, forked_memory(self._pool, self._memory, session_id))

    def switch(self, *, model: str | None = None, context_window: int | None = None) -> None:
        """Go on with another model, another window, or both, from the next turn on. Raises InputError or
        LimitError, and changes nothing, for a model that speaks another dialect."""
        switch(self._memory, model, context_window)

    def observe(self, usage: Any) -> None:
        """Calibrate the size estimate with the usage that the provider reported for the last turn."""
        self._memory.observe(usage)

    def backstop(self, kind: BackstopKind = "compaction", *, max_tokens: int | None = None) -> Backstop:
        """Return the provider's own context management as a safety net behind this session; see
        `ebbtide.backstop`. `max_tokens` is the output that requests ask for, as in `prepare`."""
        return backstop(self._memory.dialect.name, self._memory.model, self._memory.limits(max_tokens), kind)

    def reset(self) -> None:
        """Begin a new generation: jobs under way can no longer publish. Raises StoreUnavailable.

        A record already published still applies to a history that holds all it stands for.
        """
        memory = self._memory
        self._store.run(
            session_calls.reset(
                memory.owner, fresh_incarnation=secrets.token_hex(8), state_ttl=memory.policy.state_ttl
            )
        )
        memory.forget()

    def close(self) -> None:
        """Forget what this host remembers of the session; its state lives on until its TTL."""
        self._memory.forget()

    def _turn(self, run: TurnEngine) -> Turn:
        try:
            turn = self._drive(run.run())
        except UnfittableRequest as error:
            raise told_unfittable(self._pool, self._memory, error) from None
        return told(self._pool, self._memory, turn)

    def _drive(self, run: Generator[Effect, Any, Turn]) -> Turn:
        reply: Any = None
        while True:
            try:
                effect = run.send(reply)
            except StopIteration as stop:
                turn: Turn = stop.value
                return turn
            reply = self._perform(effect)

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Ask):
            return self._ask(effect)
        if isinstance(effect, Hand):
            return self._pool.courier.submit(effect.order, self._memory.mailbox)
        if isinstance(effect, Propose):
            return answer_of(self._memory, effect.proposal)
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            return None
        if isinstance(effect, Learn):
            return self._pool.tenants.of(self._memory.owner.tenant)
        return self._pool.clock()

    def _ask(self, effect: Ask) -> Any:
        began = self._pool.clock()
        try:
            reply = self._store.run(effect.call)
        except StoreUnavailable as error:
            self._pool.gate.fault(began, self._pool.clock())
            return error
        except ContractError as error:
            return error
        self._pool.gate.success()
        return reply
