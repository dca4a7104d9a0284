"""Thinking blocks that were edited, merged or moved: the provider refuses each later request."""

from __future__ import annotations

from typing import Any

from ebbtide_core.dialects.base import BlockKind
from ebbtide_core.summary.source import source_message
from ebbtide_worker.transcript import transcript
from tests.core.say import ANTHROPIC, assistant, call, result, text, user
from tests.laws.lives import UID
from tests.reports.compactions import Sent, swaps, views

Json = dict[str, Any]


def thinking(words: str, signature: str = "SIG1") -> Json:
    """A signed thinking block."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def thoughts(sent: Sent) -> list[Json]:
    """The thinking blocks that are sent."""
    contents = [m["content"] for m in sent.messages if isinstance(m["content"], list)]
    return [block for content in contents for block in content if block["type"] == "thinking"]


def test_old_thinking_was_shortened_and_its_signature_kept() -> None:
    """The signature no longer fitted the text. A block is sent byte for byte or not at all."""
    block = thinking("long private reasoning " * 50)
    messages = [
        user("q"),
        assistant(block, call("t1")),
        user(result("t1", "r" * 900)),
        assistant("a"),
        user("q2"),
        assistant("b " * 900),
        user("q3"),
    ]
    found = [*swaps(messages), *views(messages[:6])]
    assert {len(thoughts(s)) for s in found} == {0, 1}
    assert all(sent == block for s in found for sent in thoughts(s))


def test_the_latest_turns_thinking_was_merged_with_others() -> None:
    """Of the latest turn, while its results come, every message stays as it is and in order; in the text that
    a summariser reads there is no thinking at all."""
    messages = [
        user("q"),
        assistant(thinking("one", "S1"), call("a")),
        user(result("a")),
        assistant(thinking("two", "S2"), text("so"), call("b")),
        user(result("b")),
    ]
    found = [*swaps(messages), *views(messages)]
    assert [s.faults for s in found if s.faults] == []
    whole = [s for s in found if len(s.before) == 5]
    assert whole
    assert all([m[UID] for m in s.rest][-2:] == [3, 4] for s in whole)
    source = [source_message(i, m, ANTHROPIC) for i, m in enumerate(messages)]
    assert any(b.kind is BlockKind.THINKING for m in source for b in m.blocks)
    read = transcript(source)
    assert not any(words in read for words in ("one", "two", "S1", "S2"))
    assert "so" in read
