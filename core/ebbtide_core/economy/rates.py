"""What a model's tokens cost, and the table of models whose prices are known.

Prices are those of the provider's price page in November 2026; cache writes are those that live five minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ebbtide_core.dialects.vendor import VENDOR


@dataclass(frozen=True, slots=True)
class Rates:
    """Prices in US dollars a million tokens.

    `input`: prompt tokens outside any cache. `cache_write`, `cache_read`: prompt tokens written to the cache,
    and read from it; written ones live `cache_seconds` from their last use. A request whose prompt is longer
    than `above` tokens is billed as a whole by `long`; both are None where no such step is known.

    Raises ValueError for a price or time that is negative or not finite, or for a step that is half given.
    """

    input: float
    output: float
    cache_write: float
    cache_read: float
    cache_seconds: float = 300.0
    above: int | None = None
    long: Rates | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cache_write", "cache_read", "cache_seconds"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name} is a number from 0 on, not {value}")
        if (self.above is None) != (self.long is None):
            raise ValueError("above and long belong together: give both or neither")

    def of(self, prompt: int) -> Rates:
        """Return the rates that a request with a prompt of so many tokens is billed by."""
        if self.above is None or self.long is None or prompt <= self.above:
            return self
        return self.long.of(prompt)


TABLE: Final[Mapping[str, Rates]] = {
    "claude-fable-5-1": Rates(10.0, 50.0, 12.5, 0.25),
    "claude-opus-5-5": Rates(4.0, 20.0, 5.0, 0.20),
    "claude-sonnet-5-5": Rates(2.0, 10.0, 2.5, 0.10),
    "claude-haiku-5-5": Rates(0.10, 0.50, 0.125, 0.01, above=100_000, long=Rates(0.50, 2.50, 0.625, 0.05)),
    "claude-haiku-4-5": Rates(1.0, 5.0, 1.25, 0.10),
    "gpt-": Rates(1.0, 5.0, 1.0, 0.10),
}
"""Rates by the beginning of a model's name. Models that begin with gpt- write to their cache at no surcharge;
the dollar a million is as invented as that of NEUTRAL."""

NEUTRAL: Final = Rates(1.0, 5.0, 1.25, 0.10)
"""The rates of a model that no table knows. Their proportions are those of most providers (writing 1.25 of
input, reading 0.1); the dollar a million is no model's price."""

NOMINAL: Final = frozenset({NEUTRAL, TABLE["gpt-"]})
"""Rates of which only the proportions hold."""


def rates_for(model: str, table: Mapping[str, Rates] | None = None) -> Rates:
    """Return the rates of the longest beginning of the model's name that a table holds, else NEUTRAL.

    A vendor's prefix before the name is passed over. Entries of `table` go before those of TABLE.
    """
    known = {**TABLE, **(table or {})}
    found = [beginning for beginning in known if _begins(model, beginning)]
    return known[max(found, key=len)] if found else NEUTRAL


def _begins(model: str, beginning: str) -> bool:
    """No digit may follow a number: claude-opus-5-5 is no beginning of claude-opus-5-50."""
    end = r"(?!\d)" if beginning[-1:].isdigit() else ""
    return re.match(VENDOR + re.escape(beginning) + end, model, re.IGNORECASE) is not None
