"""Plans that an agent keeps through a tool: which steps are done, which are open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ebbtide_core.summary.words import words

MAX_STEPS: Final = 200
_LISTS: Final = ("todos", "todo_list", "plan", "steps", "tasks")
_TEXTS: Final = ("content", "step", "title", "task", "text", "description")
_DONE: Final = words("completed complete done finished")
_OPEN: Final = words("pending in_progress in-progress open todo not_started blocked")


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a plan by their state, in order."""

    done: tuple[str, ...]
    open: tuple[str, ...]


def plan(arguments: Mapping[str, Any] | None) -> Plan | None:
    """Return the plan that a call writes: a list of steps with text and status; None when it writes none."""
    steps = [step for step in map(_step, _listed(arguments or {})) if step is not None]
    if not steps:
        return None
    return Plan(
        tuple(text for text, state in steps if state in _DONE),
        tuple(text for text, state in steps if state in _OPEN),
    )


def _listed(arguments: Mapping[str, Any]) -> list[Any]:
    for name in _LISTS:
        value = arguments.get(name)
        if isinstance(value, list):
            return value[:MAX_STEPS]
    return []


def _step(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    state = value.get("status", value.get("state"))
    texts = (text for name in _TEXTS if isinstance(text := value.get(name), str) and text.strip())
    text = next(texts, None)
    return (text.strip(), state.lower()) if text is not None and isinstance(state, str) else None
