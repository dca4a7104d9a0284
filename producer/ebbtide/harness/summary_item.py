"""The history item that holds a summary: written, and known again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ebbtide.harness.constants import SUMMARY_CLOSE_TAG, SUMMARY_OPEN_TAG
from ebbtide.harness.prompt import DEFAULT_SUMMARY_ITEM_TEMPLATE
from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.summary.message import recognise

_PLACE: Final = re.compile(r"\{\{ (\w+) \}\}")


def render_summary_item(*, bridge: str, summary_text: str) -> PlainMessage:
    """Return the user message that stands for what a summary replaces.

    Markers inside the two texts are written apart, so that only the item's own begin and end it.
    """
    values = {
        "open_tag": SUMMARY_OPEN_TAG,
        "bridge": _without_tags(bridge),
        "summary_text": _without_tags(summary_text),
        "close_tag": SUMMARY_CLOSE_TAG,
    }
    content = _PLACE.sub(lambda place: values[place[1]], DEFAULT_SUMMARY_ITEM_TEMPLATE)
    return {"role": "user", "content": content.strip()}


def is_summary_item(item: Any) -> bool:
    """Say whether a history item is a summary: of this contract, or one that an Ebbtide pool made.

    It is the whole text of a user message that counts: one that quotes a summary, or its markers, is none.
    """
    if not isinstance(item, Mapping) or item.get("role") != "user":
        return False
    text = _text(item.get("content"))
    return _tagged(text.strip()) or recognise(text) is not None


def _tagged(text: str) -> bool:
    return (
        text.startswith(SUMMARY_OPEN_TAG)
        and text.endswith(SUMMARY_CLOSE_TAG)
        and len(text) >= len(SUMMARY_OPEN_TAG) + len(SUMMARY_CLOSE_TAG)
    )


def _text(content: Any) -> str:
    """Return the text of a content that is one text and nothing else, else ""."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], Mapping):
        part = content[0]
        content = part.get("text") if part.get("type") == "text" else None
    return content if isinstance(content, str) else ""


def _without_tags(text: str) -> str:
    for tag in (SUMMARY_OPEN_TAG, SUMMARY_CLOSE_TAG):
        text = text.replace(tag, tag.replace("<<", "< <").replace(">>", "> >"))
    return text
