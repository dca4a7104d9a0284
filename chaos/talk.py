"""What the sessions of a run say: tool rounds without end, and each message names itself.

A message is a pure function of its session and its number, so a host that comes back says the same again.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any, Final

from bench.work.talk import words

Message = dict[str, Any]

ASKED_EVERY: Final = 20
"""Every so many messages the user asks for something new; in between there are calls and their results."""

LARGE_EVERY: Final = 37
"""Of so many results one is as large as a third of the window."""

_TYPICAL_WORDS: Final = (30, 160)
_LARGE_WORDS: Final = 2_200
_LINE_WORDS: Final = 100
"""Each line of a result names its message too, so that every part of a split one does."""

_FILES: Final = 60
_NAME: Final = re.compile(r"MSGID-\w+?_(\d{6})\b")


def name(session: str, number: int) -> str:
    """Return what a message calls itself, as the stand-in looks for it too."""
    return f"MSGID-{session}_{number:06}"


def session_of(called: str) -> str:
    """Return the session whose message calls itself so."""
    return called.removeprefix("MSGID-").rpartition("_")[0]


def number_of(message: Message) -> int | None:
    """Return the number that a message begins with; None for one that is no message of ours, or no more."""
    found = _NAME.match(_first_text(message))
    return int(found[1]) if found else None


def _first_text(message: Message) -> str:
    content = message.get("content")
    while isinstance(content, list) and content:
        block = content[0]
        content = block.get("text", block.get("content"))
    return content if isinstance(content, str) else ""


def said(dialect: str, session: str, number: int) -> Message:
    """Return message `number` of a session: 0 is the first request."""
    if number % ASKED_EVERY == 0:
        return {"role": "user", "content": f"{name(session, number)} {_request(session, number)}"}
    if number % 2 and (number + 1) % ASKED_EVERY == 0:
        return {"role": "assistant", "content": f"{name(session, number)} That is done."}
    maker = _anthropic if dialect == "anthropic" else _openai
    return maker(session, number)


def _request(session: str, number: int) -> str:
    chance = Random(f"{session} {number}")
    return f"Please go through the {words(chance, 12)}. Never touch legacy/."


def _anthropic(session: str, number: int) -> Message:
    if number % 2:
        text = {"type": "text", "text": f"{name(session, number)} I look into that."}
        call = {"type": "tool_use", "id": _call(number), "name": "read", "input": _input(session, number)}
        return {"role": "assistant", "content": [text, call]}
    result = {"type": "tool_result", "tool_use_id": _call(number - 1), "content": _result(session, number)}
    return {"role": "user", "content": [result]}


def _openai(session: str, number: int) -> Message:
    if number % 2:
        function = {"name": "read", "arguments": f'{{"path": "{_input(session, number)["path"]}"}}'}
        call = {"id": _call(number), "type": "function", "function": function}
        text = f"{name(session, number)} I look into that."
        return {"role": "assistant", "content": text, "tool_calls": [call]}
    return {"role": "tool", "tool_call_id": _call(number - 1), "content": _result(session, number)}


def _call(number: int) -> str:
    return f"toolu_{number}"


def _input(session: str, number: int) -> dict[str, str]:
    chance = Random(f"{session} {number} input")
    return {"path": f"src/{session}/part_{chance.randrange(_FILES)}.py"}


def _result(session: str, number: int) -> str:
    chance = Random(f"{session} {number} result")
    large = chance.randrange(LARGE_EVERY) == 0
    length = _LARGE_WORDS if large else chance.randint(*_TYPICAL_WORDS)
    own = name(session, number)
    lines = [words(chance, min(_LINE_WORDS, length - at)) for at in range(0, length, _LINE_WORDS)]
    return "\n".join([f"{own} {_input(session, number - 1)['path']}", *(f"{line} {own}" for line in lines)])
