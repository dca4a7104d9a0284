"""What the sync and the async API share: checking arguments, making sessions' memories and requests."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Final

from ebbtide.courier import Courier, Permits
from ebbtide.gate import Gate
from ebbtide.proposal import OnSwap, SwapProposal
from ebbtide.tenants import Tenants
from ebbtide.turn import Report, Turn
from ebbtide.turns.engine import TurnEngine
from ebbtide.turns.memory import Memory
from ebbtide.turns.reporting import emit
from ebbtide.turns.request import ByHand, Request
from ebbtide.turns.review import review_note
from ebbtide_core.budget.measure import Parts
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.manifest import MAX_INSTRUCTIONS_CHARS
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.dialects.detect import chosen, for_model
from ebbtide_core.errors import InputError, LimitError, UnfittableRequest
from ebbtide_core.jsonio import well_formed
from ebbtide_core.metrics import NullRecorder, Recorder
from ebbtide_core.names import Owner, checked_name
from ebbtide_core.permits import PermitSender
from ebbtide_core.policy import Mode, Policy, most_cautious
from ebbtide_core.store import fleet_calls, session_calls
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.codec import PLAIN, Codec
from ebbtide_core.store.script import Call

log = logging.getLogger("ebbtide.pool")

CONNECT_SHARE: Final = 0.4
COURIER_TIMEOUT: Final = 2.0
CANCEL_FLUSH: Final = 2.0
COMPACT_NOW_TIMEOUT: Final = 60.0
"""A store call of a turn may take 40 % of its I/O budget; background calls 2 s. `cancel` waits so many
seconds for an order under way, `compact_now` for its record unless told otherwise."""

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
    tenants: Tenants
    gate: Gate
    clock: Callable[[], float]
    codec: Codec = PLAIN
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
    codec: Codec | None = None,
    permits: Permits | None = None,
) -> Shared:
    """Check a pool's arguments and open what its sessions share; nothing connects yet. Raises InputError."""
    if not broker:
        raise InputError("give the broker's URL, such as redis://localhost:6379/0", path="broker")
    recorder = recorder if recorder is not None else NullRecorder()
    codec = PLAIN if codec is None else codec
    url = state or broker
    store = SyncStore(url, timeout=COURIER_TIMEOUT, recorder=recorder)
    gate = Gate()
    courier = Courier(store, permits or PermitSender(broker), recorder, codec, gate, monotonic)
    return Shared(
        broker=broker,
        state=url,
        policy=policy or Policy(),
        mode=checked_mode(mode),
        recorder=recorder,
        observers=[on_report] if on_report else [],
        courier=courier,
        tenants=Tenants(courier, monotonic),
        gate=gate,
        clock=monotonic,
        codec=codec,
    )


def checked_mode(mode: Mode | str) -> Mode:
    """Return the mode. Raises InputError for what is none."""
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
    on_swap: OnSwap | None,
) -> Memory:
    """Return the memory of a new session. Raises InputError or LimitError for an argument outside its
    limits."""
    checked_name(model, "model")
    _whole("context_window", context_window, least=1)
    if on_swap is not None and not callable(on_swap):
        raise InputError("give a function that takes a SwapProposal", path="on_swap")
    spoken, owner = chosen(dialect, model), Owner.of(tenant, session_id)
    pool.tenants.refresh(owner.tenant)
    return Memory(
        owner=owner,
        host=f"{pool.host}.{secrets.token_hex(4)}",
        model=model,
        window=context_window,
        dialect=spoken,
        policy=policy or pool.policy,
        meter=Meter(tokenizer(), spoken),
        codec=pool.codec,
        on_swap=on_swap,
    )


def forked_memory(pool: Shared, memory: Memory, session_id: str) -> Memory:
    """Return the memory of another session that goes on from the same messages, with the same settings.

    Raises InputError or LimitError for a name outside the limits, or when it is the session's own.
    """
    owner = Owner.of(memory.owner.tenant, session_id)
    if owner == memory.owner:
        raise InputError("a fork needs a session id of its own", path="session_id")
    forked = Memory(
        owner=owner,
        host=f"{pool.host}.{secrets.token_hex(4)}",
        model=memory.model,
        window=memory.window,
        dialect=memory.dialect,
        policy=memory.policy,
        meter=Meter(tokenizer(), memory.dialect),
        codec=memory.codec,
        on_swap=memory.on_swap,
    )
    forked.ratio, forked.observed = memory.ratio, memory.observed
    forked.pruning, forked.rewrites = replace(memory.pruning), replace(memory.rewrites)
    return forked


def switch(memory: Memory, model: str | None, context_window: int | None) -> None:
    """Go on with another model or window. Raises InputError or LimitError, and changes nothing, for a model
    that speaks another dialect."""
    model = memory.model if model is None else checked_name(model, "model")
    window = memory.window if context_window is None else context_window
    _whole("context_window", window, least=1)
    spoken, before = for_model(model), for_model(memory.model)
    if spoken is not before and memory.dialect is not spoken:
        raise InputError(
            f"{model} speaks {spoken.name}, this session {memory.dialect.name}: begin a session of its own",
            path="model",
        )
    memory.switch(model, window)


def cancelling(memory: Memory) -> Generator[Call[Any], Any, bool]:
    """Yield the store calls that end the compaction under way, and return whether there was one."""
    ended = yield session_calls.cancel(memory.owner, state_ttl=memory.policy.state_ttl)
    if not ended.ended:
        return False
    yield fleet_calls.unqueue(
        memory.owner, incarnation=ended.incarnation, generation=ended.generation, epoch=ended.epoch
    )
    return True


def engine(
    pool: Shared,
    memory: Memory,
    messages: Sequence[Message],
    system: Any,
    tools: Any,
    max_tokens: int | None,
    pending_tool_tokens: int,
    wish: ByHand | None = None,
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
    tenant = pool.tenants.known(memory.owner.tenant)
    mode = most_cautious(pool.mode, memory.policy.mode, tenant.policy.mode)
    store_open = mode is not Mode.OFF and pool.gate.enter(pool.clock())
    pool.tenants.refresh(memory.owner.tenant)  # not before: who tries a store again is the turn
    request = Request(
        messages=messages,
        parts=parts,
        limits=resolved,
        mode=mode,
        fresh=secrets.token_hex(8),
        store_open=store_open,
        by_hand=wish,
        tenant=tenant,
    )
    return TurnEngine(memory, request)


def by_hand(instructions: str, timeout: float) -> ByHand:
    """Return the wish for a compaction. Raises InputError or LimitError for an argument outside its
    limits."""
    if not isinstance(instructions, str):
        raise InputError(f"must be a string, not {type(instructions).__name__}", path="instructions")
    if len(instructions) > MAX_INSTRUCTIONS_CHARS:
        raise LimitError(
            f"{len(instructions)} characters, at most {MAX_INSTRUCTIONS_CHARS} allowed", path="instructions"
        )
    _seconds("timeout", timeout)
    return ByHand(well_formed(instructions), float(timeout))


def _seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InputError(f"must be seconds from 0 on, not {value!r}", path=name)


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"must be a whole number of at least {least}, not {value!r}", path=name)


def answer_of(memory: Memory, proposal: SwapProposal) -> Any:
    """Return a host's answer to a swap, or the error that its callback failed with."""
    assert memory.on_swap is not None  # noqa: S101  nothing is proposed without it
    try:
        return memory.on_swap(proposal)
    except Exception as error:
        log.exception("on_swap failed: the swap is declined")
        return error


def told(pool: Shared, memory: Memory, turn: Turn) -> Turn:
    """Tell log, metrics and observers of a turn, and return it; an observer's own error never matters."""
    emit(turn.report, memory.owner, pool.recorder, turn.swap)
    if turn.report.degraded:
        pool.courier.post(review_note(turn.report, memory))
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
