"""The sync shell of one session."""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator, Sequence
from typing import Any

from ebbtide.base import Shared, engine, told, told_unfittable
from ebbtide.effects import Ask, Effect, Hand, Pause
from ebbtide.memory import Memory
from ebbtide.turn import Turn
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
        try:
            turn = self._drive(run.run())
        except UnfittableRequest as error:
            raise told_unfittable(self._pool, self._memory, error) from None
        return told(self._pool, self._memory, turn)

    def observe(self, usage: Any) -> None:
        """Calibrate the size estimate with the usage that the provider reported for the last turn."""
        self._memory.observe(usage)

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
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            return None
        return self._pool.clock()

    def _ask(self, effect: Ask) -> Any:
        try:
            reply = self._store.run(effect.call)
        except StoreUnavailable as error:
            self._pool.gate.fault(self._pool.clock())
            return error
        except ContractError as error:
            return error
        self._pool.gate.success()
        return reply
