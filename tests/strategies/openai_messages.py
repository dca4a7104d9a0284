"""Exchanges in the Chat Completions format."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import strategies as st

from tests.strategies.content import (
    Json,
    Messages,
    Shape,
    arguments,
    id_lists,
    ids,
    orders,
    payloads,
    shuffled,
    texts,
    tool_names,
)

_text: st.SearchStrategy[Json] = st.builds(dict, type=st.just("text"), text=texts)
_image = payloads.map(
    lambda data: {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{data}", "detail": "auto"},
    }
)
_document = payloads.map(
    lambda data: {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"},
    }
)
_unknown: st.SearchStrategy[Json] = st.builds(dict, type=st.just("later_invention"), body=texts)


def _role(role: str, content: Any, **more: Any) -> Json:
    return {"role": role, "content": content, **more}


_user = st.one_of(
    texts,
    st.just(""),
    st.lists(st.one_of(_text, _text, _image, _document, _unknown), min_size=1, max_size=3),
).map(lambda content: _role("user", content))
_reply = st.one_of(
    texts.map(lambda content: _role("assistant", content)),
    st.lists(_text, min_size=1, max_size=2).map(lambda content: _role("assistant", content)),
    st.just("").map(lambda content: _role("assistant", content)),
    texts.map(lambda words: _role("assistant", None, refusal=words)),
)
_instruction = st.builds(
    _role, st.sampled_from(["system", "developer"]), st.one_of(texts, st.lists(_text, min_size=1, max_size=2))
)


_written = st.one_of(arguments.map(json.dumps), st.sampled_from(["", "{cut", "[1]"]))
_function = st.builds(lambda tool, written: {"name": tool, "arguments": written}, tool_names, _written)
_result_body = st.fixed_dictionaries(
    {
        "role": st.just("tool"),
        "content": st.one_of(texts, st.just(""), st.lists(_text, min_size=1, max_size=2)),
    },
    optional={"name": tool_names},
)
_calling_content = st.one_of(st.none(), st.just(""), texts, st.lists(_text, max_size=1))
_later = st.one_of(_user, _reply)


def _result(draw: st.DrawFn, name: str) -> Json:
    return {**draw(_result_body), "tool_call_id": name}


def _calling(draw: st.DrawFn, names: list[str]) -> Json:
    """Draw an assistant message with these calls; without a content the key may be absent."""
    calls = [{"id": name, "type": "function", "function": draw(_function)} for name in names]
    content = draw(_calling_content)
    if content is None and draw(st.booleans()):
        return {"role": "assistant", "tool_calls": calls}
    return _role("assistant", content, tool_calls=calls)


@st.composite
def _round(draw: st.DrawFn) -> Messages:
    """Calls and all their results, in any order."""
    names = draw(id_lists)
    return [_calling(draw, names), *(_result(draw, name) for name in shuffled(names, draw(orders)))]


@st.composite
def _open(draw: st.DrawFn) -> Messages:
    """Calls of which not all are answered yet."""
    names = draw(id_lists)
    return [_calling(draw, names), *(_result(draw, name) for name in names[1:][: draw(st.integers(0, 2))])]


@st.composite
def _abandoned(draw: st.DrawFn) -> Messages:
    """Calls of which not all are answered when somebody speaks again."""
    return [*draw(_open()), draw(_later)]


@st.composite
def _answered_twice(draw: st.DrawFn) -> Messages:
    name = draw(ids)
    return [_calling(draw, [name]), _result(draw, name), _result(draw, name)]


@st.composite
def _orphan(draw: st.DrawFn) -> Messages:
    return [_result(draw, draw(ids))]


_instructions = st.lists(_instruction, min_size=1, max_size=2)
_users = st.lists(_user, min_size=1, max_size=2)
_replies = st.lists(_reply, min_size=1, max_size=2)

SHAPE: Final = Shape(
    opening=st.one_of(_instructions, _users),
    exchange=st.one_of(_users, _replies, _round(), _round(), _instructions),
    ending=_open(),
    malformed=st.one_of(_abandoned(), _orphan(), _answered_twice()),
)
