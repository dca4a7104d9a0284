"""The JSON object that a model answers with: the schema that asks for it, and how it becomes a summary."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from ebbtide_core.contract.record import Usage
from ebbtide_core.errors import SummaryRejected
from ebbtide_core.summary.caps import capped
from ebbtide_core.summary.model import LIST_FIELDS, RequestState, Summary
from ebbtide_core.summary.validate import check
from ebbtide_worker.summarisers.base import FaultKind, SummariserFault

FIELDS: Final = tuple(Summary.model_fields)
"""All fields of a summary."""

_STATES: Final = tuple(state.value for state in RequestState)
_NOT_JSON: Final = object()
_FENCED: Final = re.compile(r"```\w*[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)


def schema(fields: Sequence[str] = FIELDS) -> dict[str, object]:
    """Return the JSON schema of an object with these fields of a summary, all of them required.

    It holds no lengths, which structured output does not enforce: `summary_of` cuts what is too long.
    """
    return {
        "type": "object",
        "properties": {name: _field(name) for name in fields},
        "required": list(fields),
        "additionalProperties": False,
    }


def _field(name: str) -> dict[str, object]:
    if name in LIST_FIELDS:
        return {"type": "array", "items": {"type": "string"}}
    if name == "active_request_state":
        return {"type": "string", "enum": list(_STATES)}
    return {"type": "string"}


def summary_of(text: str, usage: Usage, fields: Sequence[str] = FIELDS) -> Summary:
    """Return the summary that an answer's text holds, cut to the limits of `Summary`.

    One code fence around the object is taken off; fields that were not asked for are passed over. Raises
    SummariserFault with `usage`: EMPTY for a blank text or a summary that says nothing, NOT_JSON, SCHEMA with
    the names of the fields that are missing or of a wrong type.
    """
    if not text.strip():
        raise SummariserFault(FaultKind.EMPTY, "no text", usage)
    found = _object(text, usage)
    wrong = [name for name in fields if not _fits(name, found.get(name))]
    if wrong:
        raise SummariserFault(FaultKind.SCHEMA, f"missing or of a wrong type: {', '.join(wrong)}", usage)
    summary = _capped({name: found[name] for name in fields})
    if not _tells(summary):
        raise SummariserFault(FaultKind.EMPTY, "a summary that says nothing", usage)
    return summary


def _object(text: str, usage: Usage) -> dict[str, Any]:
    fenced = _FENCED.fullmatch(text.strip())
    found = _decoded(fenced.group(1) if fenced else text)
    if found is _NOT_JSON:
        raise SummariserFault(FaultKind.NOT_JSON, f"{len(text)} characters", usage)
    if not isinstance(found, dict):
        raise SummariserFault(FaultKind.SCHEMA, "JSON, but not an object", usage)
    return found


def _decoded(text: str) -> object:
    """Return the JSON value, or `_NOT_JSON`: an error would hold the text, and be another error's context."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return _NOT_JSON
    return found


def _fits(name: str, value: object) -> bool:
    if name in LIST_FIELDS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name == "active_request_state":
        return value in _STATES
    return isinstance(value, str)


def _capped(found: dict[str, Any]) -> Summary:
    return capped(
        {name: found.get(name, ()) for name in LIST_FIELDS},
        session_intent=found.get("session_intent", ""),
        active_request=found.get("active_request", ""),
        active_request_state=RequestState(found.get("active_request_state", RequestState.NONE)),
        language=found.get("language", ""),
    )


def _tells(summary: Summary) -> bool:
    """Say whether a summary says anything, other than that there was nothing to read."""
    try:
        check(summary, source_messages=0, source_text_contains=bool, summary_tokens=0, max_tokens=0)
    except SummaryRejected:
        return False
    return True
