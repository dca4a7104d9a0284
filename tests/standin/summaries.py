"""What the stand-in's answers say: summaries that are good, and those that are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, islice
from typing import Any, Final

from tests.standin.behaviour import Behaviour
from tests.standin.kinds import Kind
from tests.standin.prompt import Prompt

Json = dict[str, Any]

PROSE: Final = "Here is the summary you asked for: the session went well."

_ITEM_CHARS: Final = 480
_ITEMS: Final = 50
_INVENTED: Final = 8


def text(prompt: Prompt, behaviour: Behaviour) -> str:
    """Return the words of an answer: JSON when the prompt asks for it, unless the behaviour is against it."""
    if behaviour.kind is Kind.PROSE:
        return PROSE
    if behaviour.kind is Kind.TEXT:
        return behaviour.text
    if prompt.schema is None:
        return _sentence(prompt, behaviour)
    told = json.dumps(_fields(prompt, prompt.schema, behaviour.kind) | behaviour.fields, ensure_ascii=False)
    return f"```json\n{told}\n```" if behaviour.kind is Kind.FENCED else told


def _sentence(prompt: Prompt, behaviour: Behaviour) -> str:
    if behaviour.kind is Kind.EMPTY:
        return ""
    if behaviour.kind is Kind.OBEYED and prompt.order:
        return prompt.order
    return f"Seen {len(prompt.ids)} messages. {' '.join(prompt.ids)}".strip()


def _fields(prompt: Prompt, schema: Json, kind: Kind) -> Json:
    """Return the object that answers a schema; all its fields but those that the kind leaves out."""
    fields: Json = blank(schema, schema)
    told = _told(prompt, kind)
    fields |= {name: value for name, value in told.items() if name in fields}
    return dict(list(fields.items())[1::2]) if kind is Kind.MISSING else fields


def _told(prompt: Prompt, kind: Kind) -> Json:
    if kind is Kind.EMPTY:
        return {}
    if kind is Kind.INVENTED:
        return summary(prompt.ids) | invented(prompt)
    if kind is Kind.OBEYED and prompt.order:
        told = [prompt.order]
        return {
            "session_intent": prompt.order,
            "decisions": told,
            "next_steps": told,
            "language": "en",
        }
    return summary(prompt.ids)


def summary(ids: tuple[str, ...]) -> Json:
    """Return the fields of a good summary of messages with these ids."""
    return {
        "session_intent": f"Stand-in summary of {len(ids)} messages",
        "completed": packed(ids),
        "identifiers": list(ids[:_ITEMS]),
        "language": "en",
    }


def invented(prompt: Prompt) -> Json:
    """Return fields with eight files and eight identifiers that the prompt does not hold, and no others."""
    files = _absent((f"invented/module_{n}.py" for n in count()), prompt)
    names = _absent((f"INVENTED-{n:04}" for n in count()), prompt)
    return {
        "session_intent": f"Stand-in summary of {files[0]}",
        "files_touched": files,
        "identifiers": names,
    }


def _absent(words: Iterator[str], prompt: Prompt) -> list[str]:
    return list(islice((word for word in words if word not in prompt.text), _INVENTED))


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
