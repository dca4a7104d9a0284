"""Context management of the Messages API: which edits it takes, with which beta header. None takes effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from tests.standin.errors import Error, invalid

Json = dict[str, Any]

BETAS: Final = {
    "compact_20260112": "compact-2026-01-12",
    "clear_tool_uses_20250919": "context-management-2025-06-27",
    "clear_thinking_20251015": "context-management-2025-06-27",
}
LEAST_TRIGGER: Final = 50_000

_FIELDS: Final = {
    "compact_20260112": frozenset({"instructions", "pause_after_compaction", "trigger"}),
    "clear_tool_uses_20250919": frozenset(
        {"clear_at_least", "clear_tool_inputs", "exclude_tools", "keep", "trigger"}
    ),
    "clear_thinking_20251015": frozenset({"keep"}),
}
_COMPACTING: Final = re.compile(
    r"claude-(?:fable|mythos)-|claude-(?:opus|sonnet|haiku)-5|claude-(?:opus-4-[678]|sonnet-4-6)\b"
)


def problem(body: Json, betas: list[str]) -> Error | None:
    """Return the error of a request whose `context_management` the API rejects; None for one without."""
    asked = body.get("context_management")
    if asked is None:
        return None
    edits = asked.get("edits", []) if isinstance(asked, dict) else None
    if not isinstance(edits, list):
        return invalid("context_management: Input should be an object with a list of `edits`")
    return next(map(invalid, _wrong(edits, body["model"], betas)), None)


def _wrong(edits: list[Json], model: str, betas: list[str]) -> Iterator[str]:
    for at, edit in enumerate(edits):
        place, kind = f"context_management.edits.{at}", edit.get("type", "")
        if kind not in BETAS:
            yield f"{place}.type: {kind!r} is none of the expected edits"
            continue
        if BETAS[kind] not in betas:
            yield f"{place}: requires anthropic-beta: {BETAS[kind]}"
        yield from (
            f"{place}.{name}: Extra inputs are not permitted"
            for name in edit.keys() - {"type"} - _FIELDS[kind]
        )
        yield from (f"{place}.trigger: {wrong}" for wrong in _wrong_trigger(edit, kind))
        if kind == "compact_20260112" and not _COMPACTING.match(model):
            yield f"{place}: {model} does not support it"


def _wrong_trigger(edit: Json, kind: str) -> Iterator[str]:
    trigger = edit.get("trigger")
    if trigger is None:
        return
    least = LEAST_TRIGGER if kind == "compact_20260112" else 1
    if trigger.get("type") not in ("input_tokens", "tool_uses"):
        yield f"{trigger.get('type')!r} is none of the expected types"
    if not isinstance(trigger.get("value"), int) or trigger["value"] < least:
        yield f"value should be at least {least}"
