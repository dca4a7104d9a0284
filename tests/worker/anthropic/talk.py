"""Chunks and terms for tests of the summariser, and what to expect of its faults."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.summary.source import SourceMessage
from ebbtide_worker.summarisers.anthropic import Anthropic
from ebbtide_worker.summarisers.base import Chunk, SummariserFault, Terms
from ebbtide_worker.transcript import transcript

KEY_ENV = "EBBTIDE_TEST_KEY"
KEY = "sk-ant-test-0123456789abcdef"


def terms(language: str = "", max_tokens: int = 1_000, instructions: str = "") -> Terms:
    """What a job asks for."""
    return Terms("acme", language, max_tokens, lambda text: len(text) // 4, instructions=instructions)


def chunk(*texts: str, label: str = "messages 0 to 9") -> Chunk:
    """A chunk of user messages with these texts."""
    messages = tuple(
        SourceMessage(i, "user", [Block(BlockKind.TEXT, text=text)])
        for i, text in enumerate(texts or ("MSGID-a go",))
    )
    text = transcript(messages)
    return Chunk(label=label, messages=messages, text=text, tokens=len(text) // 4)


async def fault(summariser: Anthropic, *texts: str) -> SummariserFault:
    """Return the fault in which a call ends."""
    with pytest.raises(SummariserFault) as caught:
        await summariser.map(chunk(*texts), terms())
    return caught.value


def user_text(entry: dict[str, Any]) -> str:
    """Return the only message of a logged request."""
    [message] = entry["body"]["messages"]
    assert message["role"] == "user"
    text: str = message["content"]
    return text
