"""The projected size of the next request.

projected = ratio x tokens(system, tools, view) + max_tokens + pending tool result. The ratio turns the
tokenizer's count into the model's: a prior per model, then the provider's reported usage over our count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.errors import InputError
from ebbtide_core.jsonio import plain

RATIO_MIN: Final = 0.8
RATIO_MAX: Final = 2.0
RATIO_WEIGHT: Final = 0.3
CLAUDE_PRIOR: Final = 1.3


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

    OpenAI's `prompt_tokens` include cached ones; Anthropic's `input_tokens` do not. Unknown shapes give 0,
    and so does a request that the provider compacted: its usage is of what was left.
    """
    try:
        value = plain(usage)
    except InputError:
        return 0
    if not isinstance(value, Mapping):
        return 0
    if _compacted(value.get("iterations")):
        return 0
    names = ("prompt_tokens",) if "prompt_tokens" in value else _ANTHROPIC_PROMPT
    return sum(n for n in map(value.get, names) if isinstance(n, int) and not isinstance(n, bool) and n > 0)


def _compacted(iterations: Any) -> bool:
    steps = iterations if isinstance(iterations, list) else []
    return any(isinstance(step, Mapping) and step.get("type") == "compaction" for step in steps)


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


def scaled(tokens: int, ratio: float) -> int:
    """Return a count in the model's tokens, rounded up."""
    return math.ceil(tokens * ratio)


def project(sizes: Sizes, parts: Parts, ratio: float, soft: int) -> Projection:
    """Return the projected size of the request that sends a buffer of these sizes.

    The tokenizer is not called while even one token a byte could not reach `soft`.
    """
    fixed = parts.system_tokens + parts.tools_tokens
    outside = scaled(fixed, ratio) + parts.max_tokens + parts.pending_tokens
    if scaled(sizes.bound, ratio) + outside < soft:
        return Projection(scaled(sizes.rough, ratio), outside, sizes.rough + fixed, exact=False)
    counted = sizes.exact()
    return Projection(scaled(counted, ratio), outside, counted + fixed)


def tokens_of(counts: Iterable[int], ratio: float) -> list[int]:
    """Return the model's tokens of each message from the tokenizer's."""
    return [scaled(count, ratio) for count in counts]
