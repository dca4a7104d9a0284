"""Which format a model speaks when the host does not say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ebbtide_core.dialects.anthropic import AnthropicMessages
from ebbtide_core.dialects.base import Dialect, PlainMessage
from ebbtide_core.dialects.openai_chat import OpenAIChat
from ebbtide_core.dialects.openai_responses import OpenAIResponses
from ebbtide_core.dialects.vendor import VENDOR
from ebbtide_core.errors import InputError

_ANTHROPIC: Final[Dialect] = AnthropicMessages()
_OPENAI: Final[Dialect] = OpenAIChat()
_RESPONSES: Final[Dialect] = OpenAIResponses()
_KNOWN: Final = {dialect.name: dialect for dialect in (_ANTHROPIC, _OPENAI, _RESPONSES)}
_CLAUDE: Final = re.compile(VENDOR + "claude", re.IGNORECASE)


def for_model(model: str) -> Dialect:
    """Return Anthropic Messages for `claude*`, also behind a vendor's prefix, else OpenAI Chat."""
    return _ANTHROPIC if _CLAUDE.match(model) else _OPENAI


def for_messages(messages: Iterable[PlainMessage]) -> Dialect:
    """Return the first known dialect in which one of the messages calls a tool, else OpenAI Chat."""
    return next((d for message in messages for d in _KNOWN.values() if d.calls(message)), _OPENAI)


def chosen(dialect: str | Dialect | None, model: str) -> Dialect:
    """Return the dialect that a host gives, itself or by name, else that of its model.

    Raises InputError for an unknown name.
    """
    return by_name(dialect) if isinstance(dialect, str) else dialect or for_model(model)


def by_name(name: str) -> Dialect:
    """Return the dialect of that name. Raises InputError, listing the known names, when there is none."""
    if name not in _KNOWN:
        raise InputError(f"unknown dialect {name!r}; known are {', '.join(sorted(_KNOWN))}", path="dialect")
    return _KNOWN[name]
