"""Claude Code session logs: one event a line, of which user and assistant events carry a message."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def is_event(value: Json) -> bool:
    """Say whether a line's object is an event of such a log and no transcript."""
    return isinstance(value.get("type"), str) and "messages" not in value


def carries_message(event: Json) -> bool:
    """Say whether the event should carry a message of the main conversation (sub-agents are sidechains)."""
    return event["type"] in ("user", "assistant") and not event.get("isSidechain")


class Log:
    """The conversation of one log, in the order of its lines.

    Consecutive assistant events with one message id are one message, written block by block.
    """

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._open_id: str | None = None

    def add(self, event: Json) -> bool:
        """Take the event's message; False when it holds none."""
        message = event.get("message")
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return False
        name = message.get("id") if message["role"] == "assistant" else None
        if isinstance(name, str) and name == self._open_id:
            self._continue(message)
        else:
            self.messages.append({"role": message["role"], "content": message.get("content")})
        self._open_id = name if isinstance(name, str) else None
        return True

    def _continue(self, message: Json) -> None:
        last = self.messages[-1]
        last["content"] = [*_blocks(last["content"]), *_blocks(message.get("content"))]


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []
