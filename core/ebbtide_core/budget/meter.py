"""Counting once: what a message or a value costs is remembered and not counted again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from ebbtide_core.budget.tokens import Tokenizer
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.errors import InputError
from ebbtide_core.jsonio import compact, equal, plain
from ebbtide_core.lineage.buffer import Entry, checked
from ebbtide_core.policy import MAX_MESSAGE_BYTES

MEMO_ENTRIES: Final = 100_000


@dataclass(frozen=True, slots=True)
class _Value:
    """The last value counted under a name; one that is equal costs the same. It is a copy, or a string."""

    value: Any
    tokens: int


@dataclass
class Meter:
    """Counts messages once and remembers them by their digest."""

    tokenizer: Tokenizer
    dialect: Dialect
    _memo: dict[str, int] = field(default_factory=dict)
    _values: dict[str, _Value] = field(default_factory=dict)

    def tokens(self, entry: Entry, message: Message) -> int:
        """Return the tokenizer's count of one message, its images and documents at their fixed cost."""
        known = self._memo.get(entry.digest)
        if known is None:
            weight = self.dialect.weight(checked(message, 0, self.dialect))
            known = self._remember(entry.digest, self.tokenizer.count(weight.text) + weight.fixed + 1)
        return known

    def known(self, entry: Entry) -> int | None:
        """Return the count of a message if it was counted before."""
        return self._memo.get(entry.digest)

    def value_tokens(self, value: Any, what: str) -> int:
        """Return the count of a system prompt or of tool schemas; `what` names it.

        Raises InputError when it is not JSON.
        """
        if value is None or (isinstance(value, str | list) and not value):
            return 0
        last = self._values.get(what)
        if last is not None and equal(last.value, value):
            return last.tokens
        text = value if isinstance(value, str) else compact(_plain_argument(value, what))
        if len(text) > MAX_MESSAGE_BYTES:
            raise InputError(f"{len(text)} characters, at most {MAX_MESSAGE_BYTES} allowed", path=what)
        counted = self.tokenizer.count(text)
        self._values[what] = _Value(value if isinstance(value, str) else json.loads(text), counted)
        return counted

    def _remember(self, name: str, tokens: int) -> int:
        if len(self._memo) >= MEMO_ENTRIES:
            self._memo.pop(next(iter(self._memo)))
        self._memo[name] = tokens
        return tokens


def _plain_argument(value: Any, what: str) -> Any:
    try:
        return plain(value)
    except InputError as error:
        joint = "." if error.path and not error.path.startswith("[") else ""
        raise InputError(error.problem, path=f"{what}{joint}{error.path}") from None
