"""Exchanges in the Messages API's format."""

from __future__ import annotations

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

_cache_control: st.SearchStrategy[Json] = st.builds(dict, type=st.just("ephemeral"))

_text = st.fixed_dictionaries(
    {"type": st.just("text"), "text": texts},
    optional={"cache_control": _cache_control, "citations": st.none()},
)
_image = st.fixed_dictionaries(
    {
        "type": st.just("image"),
        "source": st.one_of(
            st.builds(dict, type=st.just("base64"), media_type=st.just("image/png"), data=payloads),
            st.builds(dict, type=st.just("url"), url=st.just("https://example.org/shot.png")),
        ),
    },
    optional={"cache_control": _cache_control},
)
_document = st.fixed_dictionaries(
    {
        "type": st.just("document"),
        "source": st.one_of(
            st.builds(dict, type=st.just("base64"), media_type=st.just("application/pdf"), data=payloads),
            st.builds(dict, type=st.just("text"), media_type=st.just("text/plain"), data=texts),
        ),
    },
    optional={"title": st.none() | texts},
)
_unknown: st.SearchStrategy[Json] = st.builds(dict, type=st.just("later_invention"), body=texts)
_thinking: st.SearchStrategy[Json] = st.one_of(
    st.builds(
        dict,
        type=st.just("thinking"),
        thinking=st.just("") | texts,
        signature=st.sampled_from(["Sg1=", "Sg2="]),
    ),
    st.builds(dict, type=st.just("redacted_thinking"), data=payloads),
)


def _role(role: str, content: Any) -> Json:
    return {"role": role, "content": content}


def _server_tool(number: int) -> list[Json]:
    name = f"srvtoolu_{number}"
    return [
        {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": "tide"}},
        {"type": "web_search_tool_result", "tool_use_id": name, "content": []},
    ]


_server_tools: st.SearchStrategy[list[Json]] = st.just([]) | st.integers(0, 3).map(_server_tool)
_user = st.one_of(
    texts,
    st.lists(st.one_of(_text, _text, _image, _document, _unknown), min_size=1, max_size=3),
).map(lambda content: _role("user", content))
_reply = st.one_of(
    texts,
    st.tuples(st.lists(_thinking, max_size=2), _server_tools, st.lists(_text, min_size=1, max_size=2)).map(
        lambda parts: [*parts[0], *parts[1], *parts[2]]
    ),
).map(lambda content: _role("assistant", content))

_result_content = st.one_of(
    texts,
    st.just(""),
    st.none(),
    st.lists(st.one_of(_text, _text, _image, _document), max_size=2),
)


_result_body = st.fixed_dictionaries(
    {"type": st.just("tool_result")},
    optional={"content": _result_content, "is_error": st.booleans(), "cache_control": _cache_control},
)
_call_body = st.fixed_dictionaries(
    {"type": st.just("tool_use"), "name": tool_names, "input": arguments},
    optional={"cache_control": _cache_control},
)
_lead = st.tuples(st.lists(_thinking, max_size=1), st.lists(_text, max_size=1)).map(
    lambda parts: [*parts[0], *parts[1]]
)
_some_text = st.lists(_text, max_size=1)
_some_reply = st.lists(_reply, max_size=1)


def _result(draw: st.DrawFn, name: str) -> Json:
    return {**draw(_result_body), "tool_use_id": name}


def _calling(draw: st.DrawFn, names: list[str], split: bool = False) -> Messages:
    """Draw an assistant turn with these calls, in one message or one message each."""
    calls = [{**draw(_call_body), "id": name} for name in names]
    lead = draw(_lead)
    if split:
        return [_role("assistant", [*lead, calls[0]]), *(_role("assistant", [call]) for call in calls[1:])]
    return [_role("assistant", [*lead, *calls])]


@st.composite
def _round(draw: st.DrawFn) -> Messages:
    """Calls and all their results, in any order, in one user message or one each, sometimes with a text."""
    names = draw(id_lists)
    calling = _calling(draw, names, split=draw(st.booleans()))
    results = [_result(draw, name) for name in shuffled(names, draw(orders))]
    if draw(st.booleans()):
        return [*calling, _role("user", [*results, *draw(_some_text)])]
    return [*calling, *(_role("user", [result]) for result in results)]


@st.composite
def _open(draw: st.DrawFn) -> Messages:
    """Calls that nothing has answered yet; a further assistant message may follow them."""
    return [*_calling(draw, draw(id_lists)), *draw(_some_reply)]


@st.composite
def _abandoned(draw: st.DrawFn) -> Messages:
    """Calls of which not all are answered when the user speaks again."""
    names = draw(id_lists)
    answered = [_result(draw, name) for name in names[1:]]
    return [*_calling(draw, names), _role("user", [*answered, draw(_text)])]


@st.composite
def _answered_twice(draw: st.DrawFn) -> Messages:
    name = draw(ids)
    return [*_calling(draw, [name]), *(_role("user", [_result(draw, name)]) for _ in range(2))]


@st.composite
def _orphan(draw: st.DrawFn) -> Messages:
    return [_role("user", [_result(draw, draw(ids))])]


@st.composite
def _paused(draw: st.DrawFn) -> Messages:
    """A tool of the provider's whose result comes in a later message: the turn was paused, or the host had to
    answer a call of its own first."""
    use, found = draw(st.integers(0, 3).map(_server_tool))
    between = draw(st.lists(ids, max_size=1))
    calls = [{**draw(_call_body), "id": name} for name in between]
    results = [_role("user", [_result(draw, name)]) for name in between]
    return [_role("assistant", [use, *calls]), *results, _role("assistant", [found, draw(_text)])]


_opening = st.lists(_user, min_size=1, max_size=2)
_empty = st.sampled_from(["", [], None]).map(lambda content: [_role("assistant", content)])

SHAPE: Final = Shape(
    opening=_opening,
    exchange=st.one_of(_opening, st.lists(_reply, min_size=1, max_size=2), _round(), _round(), _paused()),
    ending=st.one_of(_open(), _empty),
    malformed=st.one_of(_abandoned(), _orphan(), _answered_twice()),
)
