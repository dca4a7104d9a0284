"""The page on cost tells every price of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from ebbtide_core.economy.rates import NEUTRAL, TABLE, Rates

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cost.md"


def row(name: str, rates: Rates) -> str:
    """A row of the page's table of prices."""
    prices = (rates.input, rates.output, rates.cache_write, rates.cache_read)
    return f"| {name} | " + " | ".join(f"{price:g}" for price in prices) + " |"


@pytest.mark.parametrize("model", sorted(TABLE))
def test_every_price_is_on_the_page(model: str) -> None:
    """A model's rates, and those of its long prompts, have a row each."""
    rates, page = TABLE[model], PAGE.read_text(encoding="utf-8")
    assert row(f"`{model}`", rates) in page
    if rates.long is not None:
        assert row(f"`{model}`, prompt above {rates.above:,} tokens", rates.long) in page


def test_the_neutral_prices_are_on_the_page() -> None:
    """Those of a model that no table knows."""
    assert row("any other", NEUTRAL) in PAGE.read_text(encoding="utf-8")
