"""Exchanges in the Responses format: answers of several items, with and without reasoning."""

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
)


def _item(kind: str, **keys: Any) -> Json:
    return {"type": kind, **keys}


_input_text = st.fixed_dictionaries(
    {"type": st.just("input_text"), "text": texts},
    optional={"prompt_cache_breakpoint": st.just({"mode": "explicit"})},
)
_input_image = payloads.map(
    lambda data: _item("input_image", image_url=f"data:image/png;base64,{data}", detail="auto")
)
_input_file = payloads.map(
    lambda data: _item("input_file", filename="a.pdf", file_data=f"data:application/pdf;base64,{data}")
)
_unknown: st.SearchStrategy[Json] = st.builds(dict, type=st.just("later_invention"), body=texts)
_output_text: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"type": st.just("output_text"), "text": texts}, optional={"annotations": st.just([])}
)

_user = st.one_of(
    texts.map(lambda content: {"role": "user", "content": content}),
    st.lists(
        st.one_of(_input_text, _input_text, _input_image, _input_file, _unknown), min_size=1, max_size=3
    ).map(lambda content: _item("message", role="user", content=content)),
)
_reply = st.one_of(
    texts.map(lambda content: {"role": "assistant", "content": content}),
    st.lists(_output_text, min_size=1, max_size=2).map(
        lambda content: _item("message", id="msg_1", role="assistant", status="completed", content=content)
    ),
    texts.map(lambda w: _item("message", role="assistant", content=[_item("refusal", refusal=w)])),
)
_instruction = st.builds(
    lambda role, words: {"role": role, "content": words}, st.sampled_from(["system", "developer"]), texts
)
_reasoning = st.fixed_dictionaries(
    {
        "type": st.just("reasoning"),
        "id": st.sampled_from(["rs_1", "rs_2"]),
        "summary": st.lists(st.builds(dict, type=st.just("summary_text"), text=texts), max_size=1),
    },
    optional={"encrypted_content": st.none() | payloads, "status": st.none()},
)
_native = st.one_of(
    texts.map(
        lambda q: _item(
            "web_search_call", id="ws_1", status="completed", action={"type": "search", "query": q}
        )
    ),
    texts.map(lambda t: _item("mcp_call", id="mcp_1", server_label="s", name="f", arguments="{}", output=t)),
    payloads.map(lambda data: _item("image_generation_call", id="ig_1", status="completed", result=data)),
    payloads.map(lambda data: _item("compaction", encrypted_content=data)),
)

_written = st.one_of(arguments.map(json.dumps), st.sampled_from(["", "{cut", "[1]"]))
_output = st.one_of(
    texts, st.just(""), st.lists(st.one_of(_input_text, _input_image), min_size=1, max_size=2)
)
_KINDS: Final = ("function_call", "function_call", "custom_tool_call", "shell_call")


def _call(draw: st.DrawFn, name: str) -> Json:
    kind = draw(st.sampled_from(_KINDS))
    if kind == "function_call":
        return _item(kind, call_id=name, name="bash", arguments=draw(_written))
    if kind == "custom_tool_call":
        return _item(kind, call_id=name, name="edit", input=draw(texts))
    return _item(kind, call_id=name, action={"commands": [draw(texts)]}, status="completed")


def _result(draw: st.DrawFn, call: Json) -> Json:
    if call["type"] != "shell_call":
        return _item(call["type"] + "_output", call_id=call["call_id"], output=draw(_output))
    outcome = {"type": "exit", "exit_code": draw(st.integers(0, 1))}
    chunk = {"stdout": draw(texts), "stderr": "", "outcome": outcome}
    return _item("shell_call_output", call_id=call["call_id"], output=[chunk])


def _calling(draw: st.DrawFn, names: list[str]) -> Messages:
    """Draw an answer with these calls: reasoning before any of them, words and native items among them."""
    answer: Messages = draw(st.lists(st.one_of(_reasoning, _reply, _native), max_size=2))
    for name in names:
        answer += [*draw(st.lists(_reasoning, max_size=1)), _call(draw, name)]
    return answer


def _calls(answer: Messages) -> Messages:
    return [item for item in answer if "call_id" in item]


@st.composite
def _answer(draw: st.DrawFn) -> Messages:
    """Reasoning or what the provider did, and words."""
    return [*draw(st.lists(st.one_of(_reasoning, _native), max_size=2)), draw(_reply)]


@st.composite
def _round(draw: st.DrawFn) -> Messages:
    """Calls and all their outputs, in any order."""
    answer = _calling(draw, draw(id_lists))
    results = [_result(draw, call) for call in _calls(answer)]
    order = shuffled([str(n) for n in range(len(results))], draw(orders))
    return [*answer, *(results[int(n)] for n in order)]


@st.composite
def _open(draw: st.DrawFn) -> Messages:
    """Calls of which not all are answered yet."""
    answer = _calling(draw, draw(id_lists))
    return [*answer, *(_result(draw, call) for call in _calls(answer)[1:][: draw(st.integers(0, 2))])]


@st.composite
def _abandoned(draw: st.DrawFn) -> Messages:
    """Calls of which not all are answered when the user speaks again."""
    return [*draw(_open()), draw(_user)]


@st.composite
def _answered_twice(draw: st.DrawFn) -> Messages:
    answer = _calling(draw, [draw(ids)])
    return [*answer, *(_result(draw, call) for call in _calls(answer) * 2)]


@st.composite
def _orphan(draw: st.DrawFn) -> Messages:
    return [_item("function_call_output", call_id=f"orphan_{draw(ids)}", output=draw(_output))]


_instructions = st.lists(_instruction, min_size=1, max_size=2)
_users = st.lists(_user, min_size=1, max_size=2)

SHAPE: Final = Shape(
    opening=st.one_of(_instructions, _users),
    exchange=st.one_of(_users, _answer(), _round(), _round(), _instructions),
    ending=_open(),
    malformed=st.one_of(_abandoned(), _orphan(), _answered_twice()),
)
