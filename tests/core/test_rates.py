"""Prices: the table, whose rates a model's name finds, and what a host may give instead."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from ebbtide_core.economy.rates import NEUTRAL, NOMINAL, TABLE, Rates, rates_for
from ebbtide_core.policy import Policy

SONNET = TABLE["claude-sonnet-5-5"]


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-5-5", (2.0, 10.0, 2.5, 0.10)),
        ("claude-opus-5-5", (4.0, 20.0, 5.0, 0.20)),
        ("claude-fable-5-1", (10.0, 50.0, 12.5, 0.25)),
        ("claude-haiku-5-5", (0.10, 0.50, 0.125, 0.01)),
        ("claude-haiku-4-5", (1.0, 5.0, 1.25, 0.10)),
    ],
)
def test_the_table_holds_the_providers_prices(model: str, expected: tuple[float, ...]) -> None:
    """Reading is not a tenth of the input price everywhere."""
    found = rates_for(model)
    assert (found.input, found.output, found.cache_write, found.cache_read) == expected
    assert found.cache_seconds == 300


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-5-5-20260901",
        "claude-sonnet-5-5@20260901",
        "Claude-Sonnet-5-5",
        "anthropic/claude-sonnet-5-5",
        "anthropic:claude-sonnet-5-5",
        "us.anthropic.claude-sonnet-5-5-v1:0",
        "projects/p/models/claude-sonnet-5-5",
    ],
)
def test_a_date_and_a_vendors_prefix_are_passed_over(model: str) -> None:
    """The same model under another name has the same price."""
    assert rates_for(model) is SONNET


@pytest.mark.parametrize("model", ["", "mistral-large", "claude-sonnet-5-50", "my-claude-sonnet-5-5"])
def test_a_model_that_no_table_knows_has_neutral_rates(model: str) -> None:
    """Writing costs 1.25 of input and reading a tenth; the dollars themselves are marked as no real ones."""
    found = rates_for(model)
    assert found is NEUTRAL
    assert found in NOMINAL
    assert (found.cache_write / found.input, found.cache_read / found.input) == (1.25, 0.1)


@pytest.mark.parametrize("model", ["gpt-5.5", "openai/gpt-6-mini", "ft:gpt-4o:acme"])
def test_models_of_openai_write_to_their_cache_at_no_surcharge(model: str) -> None:
    """What is written costs what input costs."""
    found = rates_for(model)
    assert found.cache_write == found.input
    assert found in NOMINAL


def test_a_given_table_goes_first_and_its_longest_name_wins() -> None:
    """Users extend the table and override it."""
    own, special = Rates(1, 2, 3, 4), Rates(5, 6, 7, 8)
    table = {"claude-sonnet-5-5": own, "claude-sonnet-5-5-fast": special, "llama": own}
    assert rates_for("claude-sonnet-5-5", table) is own
    assert rates_for("claude-sonnet-5-5-fast-2", table) is special
    assert rates_for("meta/llama-9", table) is own
    assert rates_for("claude-opus-5-5", table) is TABLE["claude-opus-5-5"]


def test_a_long_prompt_is_billed_as_a_whole_by_the_higher_rates() -> None:
    """The step lies above 100,000 tokens, which still belong to the lower rates."""
    haiku = rates_for("claude-haiku-5-5")
    assert haiku.of(100_000) is haiku
    assert haiku.of(100_001) == Rates(0.50, 2.50, 0.625, 0.05)
    assert SONNET.of(900_000) is SONNET


@pytest.mark.parametrize("value", [-0.01, math.inf, math.nan])
@pytest.mark.parametrize("name", ["input", "output", "cache_write", "cache_read", "cache_seconds"])
def test_a_price_is_a_number_from_0_on(name: str, value: float) -> None:
    """Anything else is refused by name."""
    given: dict[str, Any] = {"input": 1, "output": 1, "cache_write": 1, "cache_read": 1, name: value}
    with pytest.raises(ValueError, match=name):
        Rates(**given)


@pytest.mark.parametrize("half", [{"above": 1}, {"long": NEUTRAL}])
def test_a_step_is_given_whole(half: dict[str, Any]) -> None:
    """A limit without rates, or rates without a limit, mean nothing."""
    with pytest.raises(ValueError, match="belong together"):
        Rates(1, 1, 1, 1, **half)


def test_a_policy_takes_rates_as_plain_numbers() -> None:
    """So that they may come from a file; they survive JSON."""
    plain = {"input": 2, "output": 10, "cache_write": 2.5, "cache_read": 0.1}
    policy = Policy.model_validate({"rates": plain})
    assert policy.rates == SONNET
    assert Policy.model_validate_json(policy.model_dump_json()) == policy
    with pytest.raises(ValidationError, match="input is a number from 0 on"):
        Policy.model_validate({"rates": {**plain, "input": -1}})


@pytest.mark.parametrize("ratio", [0.69, 0.96])
def test_swap_ratio_lies_between_the_watermarks(ratio: float) -> None:
    """Below soft nothing is swapped, from hard on everything is."""
    with pytest.raises(ValidationError, match="must lie within soft"):
        Policy(swap_ratio=ratio)


def test_the_default_of_swap_ratio_goes_with_any_watermarks() -> None:
    """A host that moves a watermark past it need not move it too, and such a policy survives JSON."""
    for policy in (Policy(soft=0.9), Policy(soft=0.3, hard=0.6)):
        assert Policy.model_validate_json(policy.model_dump_json()) == policy
