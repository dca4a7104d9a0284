"""What the laws' tests judge by: plain reading of messages, without the code under test.

Each check returns the faults that it found as sentences; an empty list means that the law held.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from hypothesis import Phase, find, settings
from hypothesis import strategies as st

from tests.laws.lives import MARK, UID
from tests.strategies.messages import SYSTEM_ROLES, Format

Message = Mapping[str, Any]

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def uids(messages: Iterable[Message]) -> list[int]:
    """Return the names of the history's messages among these; what was made on the way has none."""
    return [m[UID] for m in messages if UID in m]


def is_system(message: Message) -> bool:
    """Say whether it is a system or developer message."""
    return message.get("role") in SYSTEM_ROLES


def is_ephemeral(message: Message) -> bool:
    """Say whether it stands outside what was said."""
    return bool((message.get(MARK) or {}).get("ephemeral")) and not is_system(message)


def said(messages: Iterable[Message]) -> list[Message]:
    """Return what counts as lineage in a raw history."""
    return [m for m in messages if not is_system(m) and not is_ephemeral(m)]


def sent_form(message: Message) -> Any:
    """Return the message as it must be sent: no mark, lone surrogates replaced."""
    return _well_formed({k: v for k, v in message.items() if k != MARK})


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_well_formed(item) for item in value]
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    return value


def calls_of(fmt: Format, message: Message) -> list[str]:
    """Return the ids of the calls in a message."""
    if fmt == "openai_responses":
        return (
            [message["call_id"]] if message.get("type", "").endswith("_call") and "call_id" in message else []
        )
    if fmt == "openai":
        return [call["id"] for call in message.get("tool_calls") or ()]
    return [b["id"] for b in _blocks(message) if b.get("type") == "tool_use"]


def results_of(fmt: Format, message: Message) -> list[str]:
    """Return the ids that a message answers."""
    if fmt == "openai_responses":
        return [message["call_id"]] if message.get("type", "").endswith("_call_output") else []
    if fmt == "openai":
        return [message["tool_call_id"]] if message["role"] == "tool" else []
    return [b["tool_use_id"] for b in _blocks(message) if b.get("type") == "tool_result"]


def _blocks(message: Message) -> list[dict[str, Any]]:
    content = message.get("content")
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def result_texts(fmt: Format, message: Message) -> list[str]:
    """Return the texts of the results in a message, in order."""
    if fmt == "openai_responses":
        return _output_texts(message["output"]) if message.get("type", "").endswith("_call_output") else []
    if fmt == "openai":
        return _texts(message.get("content")) if message["role"] == "tool" else []
    results = [b for b in _blocks(message) if b.get("type") == "tool_result"]
    return [text for block in results for text in _texts(block.get("content"))]


def _output_texts(output: Any) -> list[str]:
    if isinstance(output, str):
        return [output]
    return [part[key] for part in output for key in ("text", "stdout", "stderr") if key in part]


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [b["text"] for b in content or () if isinstance(b, dict) and b.get("type") == "text"]


def pairs(fmt: Format, messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """Yield call and result as indices: a result answers the nearest waiting call of its id, or the last."""
    waiting: dict[str, list[int]] = {}
    last: dict[str, int] = {}
    for index, message in enumerate(messages):
        for name in results_of(fmt, message):
            stack = waiting.get(name)
            caller = stack.pop() if stack else last.get(name)
            if caller is not None:
                yield caller, index
        for name in calls_of(fmt, message):
            waiting.setdefault(name, []).append(index)
            last[name] = index


def torn(fmt: Format, before: Sequence[Message], after: Iterable[Message]) -> list[str]:
    """Return each pair of call and result of which only one half is left."""
    left = set(uids(after))
    halves = ((before[c].get(UID), before[r].get(UID)) for c, r in pairs(fmt, before))
    return [f"call {c} and result {r} were torn apart" for c, r in halves if (c in left) != (r in left)]


def framed(domain: bytes, parts: Iterable[bytes]) -> str:
    """Return the digest of parts, each behind its length, under a domain, in hex."""
    h = blake2b(domain, digest_size=16)
    for part in parts:
        h.update(len(part).to_bytes(8, "big") + part)
    return h.hexdigest()


def frozen(value: Any) -> str:
    """Return plain JSON as text, to compare before and after."""
    return json.dumps(value, default=repr)


def caught(
    strategy: st.SearchStrategy[Any], broken: Callable[[Any], list[str]], examples: int = 300
) -> list[str]:
    """Return the faults that a check finds of a wrong implementation; fails when it finds none."""
    once = settings(
        max_examples=examples, phases=[Phase.generate], database=None, derandomize=True, deadline=None
    )
    faults: list[str] = []

    def condition(example: Any) -> bool:
        faults[:] = broken(example)
        return bool(faults)

    find(strategy, condition, settings=once)
    return faults
