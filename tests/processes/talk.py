"""What the hosts of these tests say: Messages API, and each message names itself for the stand-in."""

from __future__ import annotations

from typing import Any, Final

from tests.standin.prompt import MESSAGE_ID

TENANT: Final = "acme"
MODEL: Final = "claude-sonnet-5-5"
WINDOW: Final = 8_000
RULE: Final = "Never touch legacy/."
REQUEST: Final = f"Please look into every part of the billing service, one after the other. {RULE}"
WORDS: Final = 150
"""Words of an answer; with its nudge it is about 260 tokens of the model."""


def name(session: str, number: int) -> str:
    """Return what message `number` of a session calls itself."""
    return f"MSGID-{session}_{number:04}"


def chat(session: str, messages: int) -> list[dict[str, Any]]:
    """Return the first messages of a session: a request, then answers and nudges in turn."""
    return [said(session, number) for number in range(messages)]


def said(session: str, number: int) -> dict[str, Any]:
    """Return message `number`."""
    if number % 2:
        text = f"{name(session, number)} I looked into part {number}. " + "word " * WORDS
        return {"role": "assistant", "content": text}
    return {"role": "user", "content": f"{name(session, number)} {'go on' if number else REQUEST}"}


def names(session: str, first: int, stop: int) -> list[str]:
    """Return the names of messages `first` up to, not including, `stop`."""
    return [name(session, number) for number in range(first, stop)]


def named_in(messages: list[Any]) -> list[str]:
    """Return the names that messages hold, in order."""
    return [found for message in messages for found in MESSAGE_ID.findall(message["content"])]
