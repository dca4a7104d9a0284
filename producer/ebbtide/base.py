"""What the sync and the async API share: checking arguments, making sessions' memories and requests."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ebbtide.courier import Courier, Permits
from ebbtide.engine import TurnEngine
from ebbtide.gate import Gate
from ebbtide.memory import Memory
from ebbtide.reporting import emit
from ebbtide.request import Request
from ebbtide.turn import Report, Turn
from ebbtide_core.budget.measure import Parts
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.dialects.detect import by_name, for_model
from ebbtide_core.errors import InputError, UnfittableRequest
from ebbtide_core.metrics import NullRecorder, Recorder
from ebbtide_core.names import Owner, checked_name
from ebbtide_core.permits import PermitSender
from ebbtide_core.policy import Mode, Policy, most_cautious
from ebbtide_core.store.client import SyncStore

log = logging.getLogger("ebbtide.pool")

CONNECT_SHARE: Final = 0.4
COURIER_TIMEOUT: Final = 2.0
"""A store call of a turn may take 40 % of its I/O budget; background calls 2 s."""

ReportObserver = Callable[[Report, Owner], object]


@dataclass
class Shared:
    """What all sessions of a pool share."""

    broker: str
    state: str
    policy: Policy
    mode: Mode
    recorder: Recorder
    observers: list[ReportObserver]
    courier: Courier
    gate: Gate = field(default_factory=Gate)
    clock: Callable[[], float] = time.monotonic
    host: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def store_timeout(self) -> float:
        """Seconds that one store call of a turn may take."""
        return CONNECT_SHARE * self.policy.io_budget


def shared(
    broker: str,
    state: str | None,
    policy: Policy | None,
    mode: Mode | str,
    recorder: Recorder | None,
    on_report: ReportObserver | None,
    permits: Permits | None = None,
) -> Shared:
    """Check a pool's arguments and open what its sessions share; nothing connects yet. Raises InputError."""
    if not broker:
        raise InputError("give the broker's URL, such as redis://localhost:6379/0", path="broker")
    recorder = recorder if recorder is not None else NullRecorder()
    url = state or broker
    store = SyncStore(url, timeout=COURIER_TIMEOUT, recorder=recorder)
    return Shared(
        broker=broker,
        state=url,
        policy=policy or Policy(),
        mode=_mode(mode),
        recorder=recorder,
        observers=[on_report] if on_report else [],
        courier=Courier(store, permits or PermitSender(broker), recorder),
    )


def _mode(mode: Mode | str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise InputError(f"{mode!r} is none of off, shadow, on", path="mode") from None


def new_memory(
    pool: Shared,
    tenant: str,
    session_id: str,
    model: str,
    context_window: int,
    dialect: str | Dialect | None,
    policy: Policy | None,
) -> Memory:
    """Return the memory of a new session. Raises InputError or LimitError for an argument outside its
    limits."""
    checked_name(model, "model")
    _whole("context_window", context_window, least=1)
    spoken = by_name(dialect) if isinstance(dialect, str) else dialect or for_model(model)
    return Memory(
        owner=Owner.of(tenant, session_id),
        host=f"{pool.host}.{secrets.token_hex(4)}",
        model=model,
        window=context_window,
        dialect=spoken,
        policy=policy or pool.policy,
        meter=Meter(tokenizer(), spoken),
    )


def engine(
    pool: Shared,
    memory: Memory,
    messages: Sequence[Message],
    system: Any,
    tools: Any,
    max_tokens: int | None,
    pending_tool_tokens: int,
) -> TurnEngine:
    """Return the engine of one turn. Raises InputError or LimitError for an argument outside its limits."""
    if max_tokens is not None:
        _whole("max_tokens", max_tokens, least=0)
    _whole("pending_tool_tokens", pending_tool_tokens, least=0)
    resolved = memory.limits(max_tokens)
    parts = Parts(
        system_tokens=memory.meter.value_tokens(system, "system"),
        tools_tokens=memory.meter.value_tokens(tools, "tools"),
        max_tokens=resolved.max_tokens,
        pending_tokens=pending_tool_tokens,
    )
    mode = most_cautious(pool.mode, memory.policy.mode)
    request = Request(
        messages=messages,
        parts=parts,
        limits=resolved,
        mode=mode,
        fresh=secrets.token_hex(8),
        store_open=pool.gate.is_open(pool.clock()),
    )
    return TurnEngine(memory, request)


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"must be a whole number of at least {least}, not {value!r}", path=name)


def told(pool: Shared, memory: Memory, turn: Turn) -> Turn:
    """Tell log, metrics and observers of a turn, and return it; an observer's own error never matters."""
    emit(turn.report, memory.owner, pool.recorder, turn.swap)
    for observer in pool.observers:
        try:
            observer(turn.report, memory.owner)
        except Exception:
            log.exception("a report observer failed")
    return turn


def told_unfittable(pool: Shared, memory: Memory, error: UnfittableRequest) -> UnfittableRequest:
    """Tell of a turn that fits no window, and return its error."""
    turn: Turn = error.turn
    notice = "This request does not fit the model's context window in any form."
    told(pool, memory, replace(turn, report=replace(turn.report, notice=notice)))
    return error
