"""Run history as the messages of a request."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from ebbtide import mark
from ebbtide.harness import render_request_messages
from tests.harness.talk import Response, answered


class Form(BaseModel):
    """What a user sent as an object; its field is named as a response's."""

    choices: list[str]


@dataclass
class Point:
    """What a user sent as a dataclass."""

    x: int


class Prompt:
    """A prompt of a framework: a template and values."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        self.values = {"name": "Ann"}
        self.template = SimpleNamespace(
            render_messages=lambda values: [{**m, "content": m["content"].format(**values)} for m in messages]
        )


SYSTEM = {"role": "system", "content": "You help {name}."}
USER = {"role": "user", "content": "I am {name}."}


@pytest.mark.parametrize(
    ("instructions", "messages"),
    [
        (None, []),
        ("Be brief.", [{"role": "system", "content": "Be brief."}]),
        (Prompt(SYSTEM, USER), [{"role": "system", "content": "You help Ann."}]),
    ],
)
def test_instructions_come_first_as_system_messages(instructions: Any, messages: list[Any]) -> None:
    """None gives no message, a text one, a prompt those of its system role."""
    assert render_request_messages(instructions, []) == messages


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("hello", {"role": "user", "content": "hello"}),
        (["a", 1], {"role": "user", "content": ["a", 1]}),
        (7, {"role": "user", "content": "7"}),
        (None, {"role": "user", "content": "null"}),
        ({"no": "role"}, {"role": "user", "content": '{"no": "role"}'}),
        (Point(1), {"role": "user", "content": '{"x": 1}'}),
        (Form(choices=["a"]), {"role": "user", "content": '{"choices":["a"]}'}),
        (Form(choices=[]), {"role": "user", "content": '{"choices":[]}'}),
        ({1, 2}, {"role": "user", "content": "{1, 2}"}),
        (
            {"role": "tool", "content": {"a": 1}, "more": 2},
            {"role": "tool", "content": '{"a": 1}', "more": 2},
        ),
        ({"role": "assistant"}, {"role": "assistant"}),
        (Prompt(SYSTEM, USER), {"role": "user", "content": "I am Ann."}),
        (answered("done"), {"role": "assistant", "content": "done"}),
        (
            SimpleNamespace(choices=[SimpleNamespace(message={"role": "assistant", "content": None})]),
            {"role": "assistant"},
        ),
    ],
)
def test_each_kind_of_history_item(item: Any, message: dict[str, Any]) -> None:
    """A message stays one, a response gives its first choice, anything else is what the user said."""
    assert render_request_messages(None, [item]) == [message]


def test_items_are_copied_and_keep_what_is_not_known() -> None:
    """A rendered message can be changed without changing the history."""
    item = {"role": "user", "content": "hello", "openai_responses_input": [1]}
    (message,) = render_request_messages(None, [item])
    message["content"] = "other"
    assert item == {"role": "user", "content": "hello", "openai_responses_input": [1]}
    assert message["openai_responses_input"] == [1]


def test_our_marks_are_not_sent() -> None:
    """The model never sees what a host marked."""
    (message,) = render_request_messages(None, [mark({"role": "user", "content": "hello"}, internal=True)])
    assert message == {"role": "user", "content": "hello"}


@pytest.mark.parametrize("history", [[Prompt(SYSTEM)], [Response(choices=[])]])
def test_what_gives_no_message_is_an_error(history: list[Any]) -> None:
    """A prompt without a user message and a response without choices can't stand in a history."""
    with pytest.raises(ValueError, match=r"role user|no choices"):
        render_request_messages(None, history)


def test_a_prompt_without_system_message_can_t_instruct() -> None:
    """The error says which role is missing."""
    with pytest.raises(ValueError, match="role system"):
        render_request_messages(Prompt(USER), [])
