"""A run of a framework whose shim compacts by a pool."""

from __future__ import annotations

from typing import Any

from ebbtide import AsyncPool, Turn
from ebbtide.harness import (
    BoundCompactionShim,
    CompactionReport,
    CompactionShim,
    CompactionShimConfig,
    PoolCompactor,
    render_request_messages,
)
from tests.harness.runs import PreparedTurn, bound, turn
from tests.harness.talk import ScriptedModel, answered, calls, result
from tests.host.talk import REQUEST

WINDOW = 4_000
INSTRUCTIONS = "You help with code."


class PooledRun:
    """One run: its history grows by `talk`, each `turn` calls the shim as a runner does."""

    def __init__(self, pool: AsyncPool, session_id: str = "run", **compactor: Any) -> None:
        self._pool = pool
        session = pool.session(tenant="acme", session_id=session_id, model="gpt-test", context_window=WINDOW)
        self.compactor = PoolCompactor(session, **compactor)
        self.reports: list[CompactionReport] = []
        self.at: PreparedTurn = turn([REQUEST], instructions=INSTRUCTIONS)
        self._shim: BoundCompactionShim | None = None

    @property
    def history(self) -> list[Any]:
        """The run's history."""
        return self.at.run_state.history

    def talk(self, rounds: int) -> None:
        """Add rounds of a response object that calls a tool, its result, and a user's text."""
        for _ in range(rounds):
            i = len(self.history)
            call = calls(f"call_{i}")["tool_calls"]
            self.history.append(answered(f"I look at src/module_{i}.py. " + "word " * 60, tool_calls=call))
            self.history.append(result(f"call_{i}", 10))
            self.history.append(f"fine, go on with step {i}")

    async def turn(self) -> Turn:
        """Prepare a turn, let the background work end, and return what the pool did."""
        if self._shim is None:
            config = CompactionShimConfig(context_window=WINDOW, trigger_tokens=1, failures_to_pause=None)
            shim = CompactionShim(config, self.compactor, on_compact=self.reports.append)
            self._shim = await bound(shim, ScriptedModel())
        await self._shim.prepare_turn(self.at)
        assert await self._pool.flush()
        assert self.compactor.turn is not None
        return self.compactor.turn

    async def request(self) -> list[dict[str, Any]]:
        """Return the turn's request as it goes out."""
        assert self._shim is not None
        built = render_request_messages(INSTRUCTIONS, self.history)
        return await self._shim.transform_messages(self.at, built) or built
