"""The sync entry point of a host process."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from ebbtide.base import ReportObserver, checked_mode, new_memory, shared
from ebbtide.proposal import OnSwap
from ebbtide.session import Session
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.metrics import Recorder
from ebbtide_core.policy import Mode, Policy
from ebbtide_core.store.client import SyncStore
from ebbtide_core.store.codec import Codec


class Pool:
    """A host process's access to an Ebbtide pool. Make one a process, and a session for each conversation.

    `broker` and `state` are URLs (`redis://`, `rediss://`, `unix://`; as `broker` also `amqp://`, as `state`
    also `redis+cluster://`); without `state` the broker's server keeps the state too. `on_report` is called
    after each turn with its report and owner. `codec` encodes what the store keeps of conversations; the
    workers need the same one. Raises InputError for a wrong argument; connects only when first used.
    """

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
        self._store = SyncStore(url, timeout=timeout, recorder=self._shared.recorder)

    @property
    def mode(self) -> Mode:
        """How far sessions of this pool go at most; may be set at any time, and holds from their next turn
        on. Policy, tenant and session may each ask for less. Raises InputError for what is no mode."""
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
    ) -> Session:
        """Return a session. `context_window` is in tokens; without `dialect`, Claude models speak Anthropic
        Messages, all others OpenAI Chat. `on_swap` is asked before a swap takes effect (see `SwapProposal`):
        it may decline, or name messages to keep behind the summary. Raises InputError or LimitError for names
        or numbers outside the documented limits."""
        memory = new_memory(self._shared, tenant, session_id, model, context_window, dialect, policy, on_swap)
        return Session(self._shared, self._store, memory)

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until all compactions asked for are enqueued; False when `timeout` seconds did not suffice."""
        return self._shared.courier.flush(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Finish the background work, at most `timeout` seconds, and close all connections."""
        self._shared.courier.close(timeout)
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
