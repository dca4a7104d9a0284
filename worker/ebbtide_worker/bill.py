"""What an attempt has paid, and how much of that the fleet has been told."""

from __future__ import annotations

from collections.abc import Callable

from ebbtide_core.contract.record import Usage
from ebbtide_core.store.fleet_calls import NOTHING, Paid


class Bill:
    """Tells each payment of an attempt once. `total` gives tokens of all kinds and dollars so far."""

    def __init__(self, total: Callable[[], tuple[Usage, float]]) -> None:
        self._total = total
        self._told = NOTHING

    @property
    def untold(self) -> Paid:
        """What was paid since it was last told."""
        usage, dollars = self._total()
        return Paid(_tokens(usage) - self._told.tokens, max(0.0, dollars - self._told.dollars))

    def told(self, paid: Paid) -> None:
        """Note that the fleet has counted this.

        A payment whose counting was not confirmed is told again, so that a budget errs to the safe side.
        """
        self._told = Paid(self._told.tokens + paid.tokens, self._told.dollars + paid.dollars)


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens
