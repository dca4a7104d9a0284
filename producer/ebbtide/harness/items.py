"""History items as a compactor reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ebbtide.harness.render import HistoryItem, item_messages
from ebbtide.harness.summary_item import is_summary_item
from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.dialects.openai_chat import OpenAIChat
from ebbtide_core.errors import InputError
from ebbtide_core.jsonio import plain
from ebbtide_core.lineage.marks import NONE, Marks, mark, read_marks, unmarked

ItemTest = Callable[[HistoryItem], bool]
"""Says whether an item is of a kind."""

_CHAT: Final = OpenAIChat()
_SENT: Final = frozenset(
    {"role", "content", "name", "refusal", "tool_calls", "tool_call_id", "function_call", "audio"}
)
"""The fields of a message that are its contents; others of an internal message are runtime metadata."""

_PAIRING: Final = ("role", "name", "tool_calls", "tool_call_id", "function_call")


def is_ephemeral_message(item: HistoryItem) -> bool:
    """Say whether an item is marked as needed by the active run only: kept, never summarised."""
    return _marks(item).ephemeral


def is_internal_message(item: HistoryItem) -> bool:
    """Say whether an item is marked as the host's own context, which is no part of the talk."""
    return _marks(item).internal


def _marks(item: HistoryItem) -> Marks:
    if not isinstance(item, Mapping):
        return NONE
    try:
        return read_marks(item)
    except InputError:
        return NONE


def _pairing(message: PlainMessage) -> PlainMessage:
    """Return what pairs calls and results as plain JSON: a message may hold an SDK's objects."""
    known = {key: message[key] for key in _PAIRING if key in message}
    try:
        value: PlainMessage = plain(known)
    except InputError:
        return {"role": message["role"]}
    return value


@dataclass(frozen=True, slots=True)
class Item:
    """One history item: its value, its messages with marks, ids of its calls and results, and its kinds."""

    value: HistoryItem
    messages: tuple[PlainMessage, ...]
    calls: tuple[str, ...]
    results: tuple[str, ...]
    only_results: bool
    ephemeral: bool
    internal: bool
    pinned: bool
    summary: bool

    def for_summary(self) -> list[PlainMessage]:
        """Return the messages as a summarising model reads them."""
        if not self.internal:
            return [dict(unmarked(message)) for message in self.messages]
        return [{k: v for k, v in message.items() if k in _SENT} for message in self.messages]

    def marked(self) -> list[PlainMessage]:
        """Return the messages with the marks that say of which kind they are."""
        wanted = {"ephemeral": self.ephemeral, "internal": self.internal}
        told = {name: True for name, value in wanted.items() if value}
        return [mark(message, **told) if told else message for message in self.messages]


def read_item(value: HistoryItem, is_ephemeral: ItemTest, is_internal: ItemTest) -> Item:
    """Return the item as read. Raises ValueError when it can't be rendered."""
    messages = tuple(item_messages(value))
    pairing = [_pairing(message) for message in messages]
    ephemeral = is_ephemeral(value)
    return Item(
        value=value,
        messages=messages,
        calls=tuple(call for message in pairing for call in _CHAT.calls(message)),
        results=tuple(result for message in pairing for result in _CHAT.results(message)),
        only_results=all(map(_CHAT.only_results, pairing)),
        ephemeral=ephemeral,
        internal=is_internal(value),
        pinned=_marks(value).pinned,
        summary=not ephemeral and is_summary_item(value),
    )
