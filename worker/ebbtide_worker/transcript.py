"""Messages as text for a prompt. What they say can't pass for the text's own structure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ebbtide_core.dialects.base import Block, BlockKind
from ebbtide_core.jsonio import well_formed
from ebbtide_core.summary.source import SourceMessage

_TAG: Final = re.compile(r"<(?=/?(?:message|call|result|document|native)\b)", re.IGNORECASE)
_UNSAFE: Final = re.compile(r"[^\w.:/-]")
_MAX_NAME: Final = 64


def transcript(messages: Iterable[SourceMessage]) -> str:
    """Return the messages with their lineage indices, calls and results marked, thinking left out.

    What can be read of documents and of the provider's own doing is marked too; what can't be read is named.

    A backslash goes into whatever in a message looks like one of the marks.
    """
    return "\n".join(map(_message, messages))


def _message(message: SourceMessage) -> str:
    parts = [part for part in map(_block, message.blocks) if part]
    opening = f'<message index="{message.index}" role="{_name(message.role)}">'
    return "\n".join([opening, *parts, "</message>"])


def _block(block: Block) -> str:
    text = _TAG.sub(r"<\\", well_formed(block.text))
    match block.kind:
        case BlockKind.TEXT:
            return text
        case BlockKind.THINKING:
            return ""
        case BlockKind.CALL:
            return f'<call tool="{_name(block.name)}">{text}</call>'
        case BlockKind.RESULT:
            return f"<result{' error' if block.is_error else ''}>\n{text}\n</result>"
        case BlockKind.DOCUMENT | BlockKind.NATIVE if text:
            tool = f' tool="{_name(block.name)}"' if block.name else ""
            return f"<{block.kind.value}{tool}>\n{text}\n</{block.kind.value}>"
        case _:
            return f"({block.kind.value})"


def _name(text: str) -> str:
    return _UNSAFE.sub("_", text)[:_MAX_NAME]
