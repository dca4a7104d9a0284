"""Messages whose size is known from their canonical form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.dialects.detect import by_name
from ebbtide_core.dialects.light import beyond_canonical
from ebbtide_core.jsonio import plain
from ebbtide_core.lineage.canonical import canonical
from tests.core.say import answers, asks, assistant, call, image, marked, result, text, user
from tests.strategies.messages import FORMATS, Format, buffers

CACHE = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize("fmt", FORMATS)
@given(data=st.data())
def test_a_light_message_never_weighs_more_than_is_told(fmt: Format, data: st.DataObject) -> None:
    """Its weight's text is no longer than its canonical form and what comes beyond, and nothing in it costs a
    fixed amount.
    """
    dialect = by_name(fmt)
    for message in map(plain, data.draw(buffers(fmt, malformed=data.draw(st.booleans())))):
        beyond = beyond_canonical(message)
        if beyond is not None:
            weight = dialect.weight(message)
            assert len(weight.text.encode()) <= len(canonical(message, dialect)) + beyond
            assert weight.fixed == 0


@pytest.mark.parametrize(
    "message",
    [
        user("hi"),
        user(text("hi"), text("there")),
        assistant(text("let me see"), call("t1")),
        user(result("t1", "out")),
        user(result("t1", [text("out")])),
        marked(user("hi"), pinned=True),
        asks("a", "b"),
        {**asks("a"), "content": None},
        answers("a", "out"),
    ],
)
def test_what_agents_mostly_say_is_light(message: Any) -> None:
    """Words, calls and results, in both formats."""
    assert beyond_canonical(message) is not None


@pytest.mark.parametrize(
    "message",
    [
        user(image(400)),
        user({**text("hi"), **CACHE}),
        user({**text("hi"), "citations": None}),
        user(result("t1", [image(400)])),
        user(result("t1", [{**text("out"), **CACHE}])),
        user({"type": "later", "body": "words"}),
        {**user("hi"), **CACHE},
        {**assistant("hi"), "audio": {"id": "a", "data": "aaaa"}},
        {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": None}]},
        {"role": "assistant", "tool_calls": ["odd"]},
        {"role": "assistant", "tool_calls": 5},
        {"role": "assistant", "tool_calls": {"id": "a"}},
        {"role": "user", "content": {"type": "text"}},
        {"role": "user", "content": ["bare"]},
    ],
)
def test_what_may_hold_more_is_weighed(message: Any) -> None:
    """Payloads, and whatever the canonical form leaves out of blocks."""
    assert beyond_canonical(message) is None
