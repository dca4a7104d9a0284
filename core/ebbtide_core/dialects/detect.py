"""Which format a model speaks when the host does not say."""

from __future__ import annotations

import re
from typing import Final

from ebbtide_core.dialects.anthropic import AnthropicMessages
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.dialects.openai_chat import OpenAIChat
from ebbtide_core.errors import InputError

_ANTHROPIC: Final[Dialect] = AnthropicMessages()
_OPENAI: Final[Dialect] = OpenAIChat()
_KNOWN: Final = {dialect.name: dialect for dialect in (_ANTHROPIC, _OPENAI)}
_CLAUDE: Final = re.compile(r"(?:.*/)?(?:[\w-]+:)?(?:(?:[\w-]+\.)*anthropic\.)?claude", re.IGNORECASE)


def for_model(model: str) -> Dialect:
    """Return Anthropic Messages for `claude*`, also behind a vendor's prefix, else OpenAI Chat."""
    return _ANTHROPIC if _CLAUDE.match(model) else _OPENAI


def by_name(name: str) -> Dialect:
    """Return the dialect of that name. Raises InputError, listing the known names, when there is none."""
    if name not in _KNOWN:
        raise InputError(f"unknown dialect {name!r}; known are {', '.join(sorted(_KNOWN))}", path="dialect")
    return _KNOWN[name]
