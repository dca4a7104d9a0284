"""Asking the stand-in through the real SDK."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message

from ebbtide_core.summary.model import Summary

MODEL = "claude-haiku-5-5"
SCHEMA = Summary.model_json_schema()


def client_of(url: str, key: str = "k-test") -> AsyncAnthropic:
    """Return a client without retries."""
    return AsyncAnthropic(base_url=url, api_key=key, max_retries=0, timeout=20.0)


async def ask(client: AsyncAnthropic, words: str = "MSGID-a said go", **more: Any) -> Message:
    """Return the answer to a request for a summary of these words."""
    request: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": words}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }
    message: Message = await client.messages.create(**(request | more))
    return message


def text_of(message: Message) -> str:
    """Return the words of an answer's first block."""
    block = message.content[0]
    assert block.type == "text"
    return block.text


async def failure(client: AsyncAnthropic, words: str = "go", **more: Any) -> anthropic.APIStatusError:
    """Return the error that a request ends in."""
    with pytest.raises(anthropic.APIStatusError) as caught:
        await ask(client, words, **more)
    return caught.value
