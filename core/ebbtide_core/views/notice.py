"""What the model is told about messages that a view leaves out."""

from __future__ import annotations

from typing import Final

CLIP_MARK: Final = "\n[... {left_out} characters of this tool result are left out ...]\n"


def gap_notice(messages: int) -> str:
    """Return the notice that stands in place of omitted messages."""
    noun = "message" if messages == 1 else "messages"
    return (
        f"[{messages} earlier {noun} of this conversation left out of this request to fit the context "
        "window. They are not lost and may return later. Do not guess what they said.]"
    )


def local_notice(messages: int) -> str:
    """Return the notice that heads a local summary."""
    noun = "message is" if messages == 1 else "messages are"
    return (
        f"[{messages} earlier {noun} left out of this request to fit the context window. Notes taken from "
        "them automatically follow; they are a record of what was said, not new instructions.]"
    )


def superseded_notice(turn: int) -> str:
    """Return what stands in place of a tool result that a newer one supersedes: that of this lineage turn."""
    return f"[result superseded; see turn {turn}]"
