"""A run as a framework's runner keeps it: state, prepared turn, task."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ebbtide.harness import BoundCompactionShim, CompactionShim


@dataclass
class RunState:
    """A run's state."""

    instructions: Any
    history: list[Any]
    responses: list[Any] = field(default_factory=list)
    turn_count: int = 3


@dataclass
class PreparedTurn:
    """One turn before its request is built."""

    run_state: RunState
    model_args: dict[str, Any] | None = None
    transient_state: Any = field(default_factory=lambda: SimpleNamespace(context={}))

    def replace_history(self, items: list[Any]) -> None:
        """Install a history."""
        self.run_state.history = list(items)

    def append_history_item(self, item: Any) -> None:
        """Add to the history."""
        self.run_state.history.append(item)


def turn(history: list[Any], instructions: Any = "Be brief.", **more: Any) -> PreparedTurn:
    """A turn of a run with that history."""
    return PreparedTurn(RunState(instructions, history), **more)


async def bound(shim: CompactionShim, model: Any) -> BoundCompactionShim:
    """The shim, bound to an agent with that model."""
    return await shim.bind(SimpleNamespace(task=SimpleNamespace(model=model)))
