"""What waits, in the run's transient state, for the request of one turn."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any


def leave(turn: Any, key: str, value: Any) -> bool:
    """Keep a value until the turn's request is built; False when the transient state is no mapping."""
    context = _transient(turn)
    if context is None:
        return False
    waiting = context.get(key)
    context[key] = [*(waiting if isinstance(waiting, list) else ()), value]
    return True


def take(turn: Any, key: str) -> list[Any]:
    """Return the values that wait, once."""
    context = _transient(turn)
    waiting = context.pop(key, None) if context is not None else None
    return waiting if isinstance(waiting, list) else []


def _transient(turn: Any) -> MutableMapping[str, Any] | None:
    context = getattr(getattr(turn, "transient_state", None), "context", None)
    return context if isinstance(context, MutableMapping) else None
