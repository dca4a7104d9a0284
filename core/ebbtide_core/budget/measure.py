"""The projected size of the next request.

projected = ratio x tokens(system, tools, view) + max_tokens + pending tool result. The ratio turns the
tokenizer's count into the model's: a prior per model, then the provider's reported usage over our count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ebbtide_core.budget.tokens import Tokenizer
from ebbtide_core.dialects.base import Dialect
from ebbtide_core.errors import InputError
from ebbtide_core.jsonio import compact, digest, plain
from ebbtide_core.lineage.buffer import Buffer, Entry, checked
from ebbtide_core.policy import MAX_MESSAGE_BYTES

RATIO_MIN: Final = 0.8
RATIO_MAX: Final = 2.0
RATIO_WEIGHT: Final = 0.3
CLAUDE_PRIOR: Final = 1.3
MEMO_ENTRIES: Final = 100_000
TYPICAL_BYTES_PER_TOKEN: Final = 3


def prior_ratio(model: str) -> float:
    """Return the model's tokens per o200k token before any usage was seen (current Claude models: about
    1.3)."""
    return CLAUDE_PRIOR if "claude" in model.lower() else 1.0


def clamped(ratio: float) -> float:
    """Return the ratio within 0.8 to 2."""
    return min(RATIO_MAX, max(RATIO_MIN, ratio))


def running_ratio(old: float, reported: int, counted: int) -> float:
    """Return the ratio after one more request: its reported prompt tokens over what was counted for it."""
    if counted <= 0 or reported <= 0:
        return old
    return clamped(old + RATIO_WEIGHT * (clamped(reported / counted) - old))


def prompt_tokens(usage: Any) -> int:
    """Return the size of the prompt that a usage report names, cached tokens included once.

    OpenAI's `prompt_tokens` include cached ones; Anthropic's `input_tokens` do not. Unknown shapes give 0.
    """
    try:
        value = plain(usage)
    except InputError:
        return 0
    if not isinstance(value, Mapping):
        return 0
    names = ("prompt_tokens",) if "prompt_tokens" in value else _ANTHROPIC_PROMPT
    return sum(n for n in map(value.get, names) if isinstance(n, int) and not isinstance(n, bool) and n > 0)


_ANTHROPIC_PROMPT: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a request holds besides its messages: tokens of system and tools, output, and results still to
    come."""

    system_tokens: int = 0
    tools_tokens: int = 0
    max_tokens: int = 0
    pending_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Projection:
    """The next request in the model's tokens: `view` of its messages, `outside` of all else.

    `exact` is False when a cheap bound already showed that no watermark can be reached: `view` is then a
    rough figure for people. `counted` is the tokenizer's count of messages, system and tools, ratio not
    applied.
    """

    view: int
    outside: int
    counted: int
    exact: bool = True

    @property
    def total(self) -> int:
        """The projected size of the request."""
        return self.view + self.outside


@dataclass
class Meter:
    """Counts messages once and remembers them by their digest."""

    tokenizer: Tokenizer
    dialect: Dialect
    _memo: dict[str, int] = field(default_factory=dict)

    def tokens(self, entry: Entry) -> int:
        """Return the tokenizer's count of one message, its images and documents at their fixed cost."""
        known = self._memo.get(entry.digest)
        if known is None:
            weight = self.dialect.weight(checked(entry.message, 0))
            known = self._remember(entry.digest, self.tokenizer.count(weight.text) + weight.fixed + 1)
        return known

    def value_tokens(self, value: Any, what: str) -> int:
        """Return the count of a system prompt or of tool schemas. Raises InputError when it is not JSON."""
        if value is None or value in ("", []):
            return 0
        text = value if isinstance(value, str) else compact(_plain_argument(value, what))
        if len(text) > MAX_MESSAGE_BYTES:
            raise InputError(f"{len(text)} characters, at most {MAX_MESSAGE_BYTES} allowed", path=what)
        name = digest(b"ebbtide/value/1", text.encode(errors="replace")).hex()
        known = self._memo.get(name)
        return self._remember(name, self.tokenizer.count(text)) if known is None else known

    def bound(self, entries: Iterable[Entry]) -> int:
        """Return a number of tokens that the messages can't exceed: known counts, else one token a byte."""
        return sum(self._memo.get(e.digest, e.bound) for e in entries)

    def rough(self, entries: Iterable[Entry]) -> int:
        """Return a rough count: known ones, else a token for every three bytes."""
        return sum(self._memo.get(e.digest, e.size // TYPICAL_BYTES_PER_TOKEN + e.fixed) for e in entries)

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


def scaled(tokens: int, ratio: float) -> int:
    """Return a count in the model's tokens, rounded up."""
    return math.ceil(tokens * ratio)


def project(buffer: Buffer, parts: Parts, meter: Meter, ratio: float, soft: int) -> Projection:
    """Return the projected size of the request that sends the buffer.

    The tokenizer is not called while even one token a byte could not reach `soft`.
    """
    fixed = parts.system_tokens + parts.tools_tokens
    outside = scaled(fixed, ratio) + parts.max_tokens + parts.pending_tokens
    if (
        scaled(buffer.size, RATIO_MAX) + outside < soft
        or scaled(meter.bound(buffer.entries), RATIO_MAX) + outside < soft
    ):
        rough = meter.rough(buffer.entries)
        return Projection(scaled(rough, ratio), outside, rough + fixed, exact=False)
    counted = sum(map(meter.tokens, buffer.entries))
    return Projection(scaled(counted, ratio), outside, counted + fixed)


def tokens_of(entries: Sequence[Entry], meter: Meter, ratio: float) -> list[int]:
    """Return the model's tokens of each message."""
    return [scaled(meter.tokens(entry), ratio) for entry in entries]
