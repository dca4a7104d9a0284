"""The stand-in's response bodies."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.standin.behaviour import Behaviour, Kind
from tests.standin.prompt import Prompt, tokens

Json = dict[str, Any]

PAGE: Final = "<!doctype html><title>Bad gateway</title><p>The upstream is having a moment.</p>"
PROSE: Final = "Here is the summary you asked for: the session went well."

_ITEM_CHARS: Final = 480
_ITEMS: Final = 50
_ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error(status: int, message: str, request_id: str, error_code: str = "") -> Json:
    """Return an error body in Anthropic's shape."""
    details = {"details": {"error_code": error_code}} if error_code else {}
    found = {"type": _ERROR_TYPES.get(status, "api_error"), "message": message, **details}
    return {"type": "error", "error": found, "request_id": request_id}


def message(prompt: Prompt, behaviour: Behaviour, number: int, warm: bool) -> Json:
    """Return a message body. `warm`: the prompt's prefix was cached before."""
    body: Json = {
        "id": f"msg_standin_{number}",
        "type": "message",
        "role": "assistant",
        "model": prompt.model,
    }
    if behaviour.kind is Kind.NULL:
        return {**body, "content": None, "stop_reason": None}
    content, stop_reason = _content(prompt, behaviour)
    return {
        **body,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage(prompt, json.dumps(content, ensure_ascii=False), warm),
    }


def usage(prompt: Prompt, output: str, warm: bool) -> Json:
    """Return usage figures; what a cache mark covers is written the first time and read later."""
    cached = tokens(prompt.prefix) if prompt.prefix else 0
    read, written = (cached, 0) if warm else (0, cached)
    return {
        "input_tokens": max(prompt.tokens - cached, 0),
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": tokens(output),
        "service_tier": "standard",
    }


def _content(prompt: Prompt, behaviour: Behaviour) -> tuple[list[Json], str]:
    text = _text(prompt, behaviour)
    if behaviour.kind is Kind.STOP:
        return _stopped(prompt, behaviour.stop_reason, text), behaviour.stop_reason
    if tokens(text) > prompt.max_tokens:
        return [{"type": "text", "text": text[: prompt.max_tokens * 4]}], "max_tokens"
    return [{"type": "text", "text": text}], "end_turn"


def _text(prompt: Prompt, behaviour: Behaviour) -> str:
    if behaviour.kind is Kind.PROSE:
        return PROSE
    if behaviour.kind is Kind.TEXT:
        return behaviour.text
    if prompt.schema is None:
        return f"Seen {len(prompt.ids)} messages. {' '.join(prompt.ids)}".strip()
    fields = blank(prompt.schema, prompt.schema)
    if behaviour.kind is not Kind.EMPTY:
        fields |= {name: value for name, value in summary(prompt.ids).items() if name in fields}
    return json.dumps(fields | behaviour.fields, ensure_ascii=False)


def _stopped(prompt: Prompt, reason: str, text: str) -> list[Json]:
    if reason == "refusal":
        return []
    if reason == "tool_use":
        name = prompt.tools[0] if prompt.tools else "bash"
        return [{"type": "tool_use", "id": "toolu_standin", "name": name, "input": {}}]
    return [{"type": "text", "text": text[: len(text) // 2]}]


def summary(ids: tuple[str, ...]) -> Json:
    """Return the fields of a good summary of messages with these ids."""
    return {
        "session_intent": f"Stand-in summary of {len(ids)} messages",
        "completed": packed(ids),
        "identifiers": list(ids[:_ITEMS]),
        "language": "en",
    }


def packed(ids: tuple[str, ...]) -> list[str]:
    """Return the ids as few items, each at most 480 characters unless one id alone is longer."""
    items = ["Read"]
    for name in ids:
        if len(items[-1]) + 1 + len(name) > _ITEM_CHARS:
            items.append("Read")
        items[-1] += f" {name}"
    return items


def blank(schema: Json, root: Json) -> Any:
    """Return the emptiest value that fits a JSON schema (of those that structured output allows)."""
    if "$ref" in schema:
        return blank(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "const" in schema or "enum" in schema:
        return schema.get("const", (schema.get("enum") or [None])[0])
    if options := schema.get("anyOf") or schema.get("allOf"):
        return blank(options[0], root)
    if schema.get("type") == "object":
        return {name: blank(inner, root) for name, inner in schema.get("properties", {}).items()}
    empty = {"string": "", "array": [], "integer": 0, "number": 0, "boolean": False}
    return empty.get(schema.get("type", ""))
