"""Writes the vectors: `python -m tests.vectors.generate`, after a deliberate change of the canonical form.

`canonical.json`: single messages, each with its canonical form (text) and its digest by itself.
`chain.json`: whole buffers, each with the positions of its chain from the base to the tip (`count:digest`).

A change of either file means another canonical form: raise `CANON_VERSION`, since old digests no longer fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from ebbtide_core.contract.record import Carried, body_digest
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import read
from ebbtide_core.lineage.canonical import canonical, message_digest
from ebbtide_core.lineage.chain import Position
from ebbtide_core.summary.message import wrap

HERE: Final = Path(__file__).parent
_CACHE: Final = {"cache_control": {"type": "ephemeral"}}

_NOTES: Final = "# Summary of the earlier conversation\nAny words.\n\n## session_intent\n- Port the build."

Json = dict[str, Any]


def _text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


MESSAGES: Final[dict[str, tuple[str, Json]]] = {
    "a string is one text block": ("anthropic", {"role": "user", "content": "hi"}),
    "keys are sorted": ("anthropic", {"content": [{"text": "hi", "type": "text"}], "role": "user"}),
    "a cache mark on a block": ("anthropic", {"role": "user", "content": [_text("hi", **_CACHE)]}),
    "null keys": ("anthropic", {"role": "user", "name": None, "content": [_text("hi", citations=None)]}),
    "our marks": ("anthropic", {"role": "user", "content": "hi", "ebbtide": {"pinned": True}}),
    "a tool's input is data": (
        "anthropic",
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "edit", "input": {"b": None, "a": 1, **_CACHE}},
            ],
        },
    ),
    "a result's string and its cache marks": (
        "anthropic",
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok", **_CACHE}],
        },
    ),
    "a result's blocks": (
        "anthropic",
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [_text("ok", **_CACHE)]}],
        },
    ),
    "thinking is kept to the letter": (
        "anthropic",
        {"role": "assistant", "content": [{"type": "thinking", "thinking": " hm\n", "signature": "Sg="}]},
    ),
    "an image": (
        "anthropic",
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
            ],
        },
    ),
    "an unknown block": ("anthropic", {"role": "user", "content": [{"type": "later", "x": [1, 2.5]}]}),
    "empty content": ("anthropic", {"role": "assistant", "content": []}),
    "null content": ("openai", {"role": "assistant", "content": None, "tool_calls": []}),
    "a lone surrogate": ("anthropic", {"role": "user", "content": "a\ud83d"}),
    "a pair and other planes": ("openai", {"role": "user", "content": "\U0001f44d \u6771 \u0645"}),
    "control characters": ("openai", {"role": "user", "content": 'tab\t "quoted" \u0001 \u2028 back\\slash'}),
    "numbers": ("anthropic", {"role": "user", "content": [{"type": "x", "n": [0, -1, 1.0, 1e22, 0.1]}]}),
    "a chat string": ("openai", {"role": "user", "content": "hi"}),
    "a chat call": (
        "openai",
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": null}'}}
            ],
        },
    ),
    "a chat result": ("openai", {"role": "tool", "tool_call_id": "c1", "content": "ok"}),
    "a cache mark on a chat part": ("openai", {"role": "user", "content": [_text("hi", **_CACHE)]}),
    "a cache mark on a chat message": ("openai", {"role": "user", "content": "hi", **_CACHE}),
    "a chat image": (
        "openai",
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": None}}
            ],
        },
    ),
    "an item's string": ("openai_responses", {"role": "user", "content": "hi"}),
    "a message item's type": (
        "openai_responses",
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    ),
    "a cache mark on an item's part": (
        "openai_responses",
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}}
            ],
        },
    ),
    "a function's call": (
        "openai_responses",
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": null}', "status": None},
    ),
    "a function's output": (
        "openai_responses",
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ),
    "a shell's action": (
        "openai_responses",
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"], "timeout_ms": None}},
    ),
    "reasoning is kept to the letter": (
        "openai_responses",
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": " hm\n"}],
            "encrypted_content": "gAAA",
            "content": None,
        },
    ),
    "a compaction item": (
        "openai_responses",
        {"type": "compaction", "encrypted_content": "gAAA", "id": None},
    ),
    "an item of later": ("openai_responses", {"type": "later", "x": [1, 2.5], "y": {"z": None}}),
}
"""Each by what it shows; the format, and the message."""

_TALK: Final[list[Json]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": "on it"},
    {"role": "user", "content": "and?"},
]


_ITEMS: Final[list[Json]] = [
    {"role": "user", "content": "go"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    {"type": "additional_tools", "role": "developer", "tools": []},
]


def _summary(*carried: Carried) -> Json:
    at = Position(7, b"\xab" * 16)
    body = body_digest(at, carried, _NOTES)
    return {"role": "user", "content": wrap(_NOTES, version=2, position=at, carried=carried, body=body)}


def _carried_talk() -> list[Json]:
    pinned = {"role": "user", "content": "keep this", "ebbtide": {"pinned": True}}
    name = message_digest(canonical(pinned, by_name("anthropic")))
    summary = _summary(Carried(index=3, digest=name))
    return [summary, pinned, *_TALK[1:]]


BUFFERS: Final[dict[str, tuple[str, list[Json]]]] = {
    "nothing said": ("anthropic", []),
    "nothing said in the other format": ("openai", []),
    "three messages": ("anthropic", _TALK),
    "the same in the other format": ("openai", _TALK),
    "system messages are outside": (
        "openai",
        [
            {"role": "system", "content": "Be brief."},
            _TALK[0],
            {"role": "developer", "content": "Now."},
            *_TALK[1:],
        ],
    ),
    "ephemeral messages are outside": (
        "anthropic",
        [{"role": "user", "content": "date", "ebbtide": {"ephemeral": True}}, *_TALK],
    ),
    "a summary sets the base": ("anthropic", [_summary(), *_TALK]),
    "carried messages are passed over": ("anthropic", _carried_talk()),
    "a summary elsewhere is a message": ("openai", [_TALK[0], _summary()]),
    "items have no role": ("openai_responses", _ITEMS),
    "a summary before items": ("openai_responses", [_summary(), *_ITEMS]),
}
"""Each by what it shows; the format, and the messages."""


def vectors() -> dict[str, list[Json]]:
    """Return the content of each file by its name."""
    return {
        "canonical.json": [_canonical(name, *case) for name, case in MESSAGES.items()],
        "chain.json": [_chain(name, *case) for name, case in BUFFERS.items()],
    }


def _canonical(name: str, dialect: str, message: Json) -> Json:
    form = canonical(message, by_name(dialect))
    return {
        "name": name,
        "dialect": dialect,
        "message": message,
        "canonical": form.decode(),
        "digest": message_digest(form),
    }


def _chain(name: str, dialect: str, messages: list[Json]) -> Json:
    chain = read(messages, by_name(dialect)).chain
    counts = range(chain.base.count, chain.tip.count + 1)
    return {
        "name": name,
        "dialect": dialect,
        "messages": messages,
        "positions": [str(chain.at(count)) for count in counts],
    }


def text(cases: list[Json]) -> str:
    """Return a file's text: ASCII, lone surrogates written as escapes."""
    return json.dumps(cases, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    for file, cases in vectors().items():
        (HERE / file).write_text(text(cases), encoding="ascii")
