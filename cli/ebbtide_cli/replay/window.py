"""Whether a sent request is over the window, counted on the request itself and not by the host's measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ebbtide_core.budget.tokens import Tokenizer
from ebbtide_core.dialects.base import Message
from ebbtide_core.dialects.payloads import pdf_pages
from ebbtide_core.jsonio import compact
from ebbtide_core.policy import DOCUMENT_TOKENS, IMAGE_TOKENS

_PAYLOAD_KEYS: Final = frozenset({"data", "url", "file_data", "image_url", "result"})
_IMAGES: Final = frozenset(
    {"image", "image_url", "input_image", "computer_screenshot", "image_generation_call"}
)
_DOCUMENTS: Final = frozenset({"document", "file", "input_file", "input_audio", "audio"})
_SOURCES: Final = frozenset({"base64", "url", "file_id"})
"""Where payloads stand, the blocks that hold them, and the types that say only how a payload is given."""

_SCHEME_WITHIN: Final = 32
_SLACK_PER_MESSAGE: Final = 8
"""Tokens by which a list may differ from its messages counted one by one, for each message."""


class WindowCheck:
    """Counts requests of one session: tokens of view, system and tools as compact JSON, and `max_tokens`."""

    def __init__(self, tokenizer: Tokenizer, window: int, max_tokens: int, system: Any, tools: Any) -> None:
        self._tokenizer = tokenizer
        outside = sum(self._count(value) for value in (system, tools) if value is not None)
        self._room = window - max_tokens - outside
        self._known: dict[int, tuple[Message, int]] = {}

    def over(self, view: Sequence[Message]) -> bool:
        """Say whether the request that sends the view is larger than the window."""
        one_by_one = sum(self._known_count(message) for message in view)
        if one_by_one + _SLACK_PER_MESSAGE * (len(view) + 1) <= self._room:
            return False
        return self._count(list(view)) > self._room

    def _known_count(self, message: Message) -> int:
        known = self._known.get(id(message))
        if known is None or known[0] is not message:
            known = (message, self._count(message))
            self._known[id(message)] = known
        return known[1]

    def _count(self, value: Any) -> int:
        light, fixed = without_payloads(value)
        return self._tokenizer.count(compact(light)) + fixed


def without_payloads(value: Any, kind: str = "") -> tuple[Any, int]:
    """Return JSON with each payload emptied, and the tokens that these cost. `kind`: type of the block
    around."""
    if isinstance(value, list):
        parts = [without_payloads(item, kind) for item in value]
        return [light for light, _ in parts], sum(cost for _, cost in parts)
    if not isinstance(value, dict):
        return value, 0
    named = value.get("type")
    kind = named if isinstance(named, str) and named not in _SOURCES else kind
    light, fixed = {}, 0
    for key, item in value.items():
        if key in _PAYLOAD_KEYS and isinstance(item, str) and _is_payload(kind, item):
            light[key], cost = "", _price(kind, item)
        else:
            light[key], cost = without_payloads(item, "audio" if key == "audio" else kind)
        fixed += cost
    return light, fixed


def _is_payload(kind: str, text: str) -> bool:
    carries = kind in _IMAGES or kind in _DOCUMENTS
    return carries and (text[:5].lower() == "data:" or not text[:_SCHEME_WITHIN].count("://"))


def _price(kind: str, text: str) -> int:
    if kind in _IMAGES:
        return IMAGE_TOKENS
    return DOCUMENT_TOKENS * pdf_pages(text.partition(",")[2] or text)
