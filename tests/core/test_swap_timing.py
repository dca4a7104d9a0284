"""The swap policy: cases worked out by hand, and its laws."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.economy.rates import Rates, rates_for
from ebbtide_core.economy.timing import Chance, rebuild, saving, swap_now

RATES = rates_for("claude-sonnet-5-5")
RATIO = 0.85
CHANCE = Chance(projected=75_000, after=15_000, unchanged=5_000, window=100_000, idle=1.0, turns=10)

sizes = st.integers(0, 200_000)


@st.composite
def chances(draw: st.DrawFn) -> Chance:
    """Any chance whose parts are no larger than the whole."""
    projected, after = draw(sizes), draw(sizes)
    return Chance(
        projected=projected,
        after=after,
        unchanged=draw(st.integers(0, min(projected, after))),
        window=draw(st.integers(1_000, 250_000)),
        idle=draw(st.none() | st.floats(0, 10_000)),
        turns=draw(st.integers(0, 400)),
    )


@st.composite
def prices(draw: st.DrawFn) -> Rates:
    """Any rates under which writing costs at least what reading does, some with dearer long prompts."""
    read, write = sorted((draw(st.floats(0, 5)), draw(st.floats(0, 5))))
    plain = Rates(2.0, 10.0, write, read)
    if not draw(st.booleans()):
        return plain
    times = draw(st.floats(1, 10))
    dear = Rates(2.0 * times, 10.0 * times, write * times, read * times)
    return replace(plain, above=draw(sizes), long=dear)


def test_saving_and_rebuild_by_hand() -> None:
    """60,000 tokens less to read at $0.10; 10,000 written at $2.50 instead of read."""
    assert saving(CHANCE, RATES) == pytest.approx(60_000 * 0.10)
    assert rebuild(CHANCE, RATES) == pytest.approx(10_000 * 2.40)


@pytest.mark.parametrize(("turns", "swaps"), [(0, False), (8, False), (9, True)])
def test_it_pays_when_half_the_turns_so_far_will_save_more_than_the_rebuild(turns: int, swaps: bool) -> None:
    """24,000 millionths are four turns of 6,000, so more than eight turns must have passed."""
    assert swap_now(replace(CHANCE, turns=turns), RATES, RATIO) is swaps


@pytest.mark.parametrize(("idle", "swaps"), [(300.0, False), (300.1, True), (None, False)])
def test_a_cold_cache_is_no_reason_to_wait(idle: float | None, swaps: bool) -> None:
    """After five minutes all is written anew in any case; when nothing is known, the cache counts as warm."""
    assert swap_now(replace(CHANCE, idle=idle, turns=0), RATES, RATIO) is swaps


def test_a_step_in_price_makes_a_swap_worth_more() -> None:
    """Haiku bills a prompt above 100,000 tokens at five times the price, so getting below it pays at once."""
    haiku = rates_for("claude-haiku-5-5")
    below = Chance(projected=100_000, after=60_000, unchanged=5_000, window=200_000, idle=0.0, turns=6)
    assert not swap_now(below, haiku, RATIO)
    assert swap_now(replace(below, projected=100_001), haiku, RATIO)


@given(chances(), prices())
def test_from_swap_ratio_on_it_always_swaps(chance: Chance, rates: Rates) -> None:
    """Whatever it costs, and whatever it brings."""
    assert swap_now(replace(chance, projected=math.ceil(RATIO * chance.window)), rates, RATIO)


@given(chances(), prices())
def test_a_swap_that_shortens_nothing_is_never_made_below_swap_ratio(chance: Chance, rates: Rates) -> None:
    """Nor with a cold cache."""
    useless = replace(chance, after=max(chance.after, chance.projected), window=10**9)
    assert not swap_now(useless, rates, RATIO)


@given(chances(), prices(), sizes)
def test_more_saving_never_turns_yes_into_no(chance: Chance, rates: Rates, less: int) -> None:
    """A smaller request after the swap saves more and writes less."""
    after = max(chance.unchanged, chance.after - less)
    assert not swap_now(chance, rates, RATIO) or swap_now(replace(chance, after=after), rates, RATIO)


@given(chances(), prices(), st.integers(0, 400))
def test_more_turns_never_turn_yes_into_no(chance: Chance, rates: Rates, more: int) -> None:
    """The longer a session has gone on, the longer it is expected to."""
    assert not swap_now(chance, rates, RATIO) or swap_now(
        replace(chance, turns=chance.turns + more), rates, RATIO
    )


@given(chances(), prices(), st.floats(0, 10_000))
def test_colder_never_turns_yes_into_no(chance: Chance, rates: Rates, longer: float) -> None:
    """A longer pause leaves less in the cache to lose."""
    colder = replace(chance, idle=(chance.idle or 0.0) + longer)
    assert not swap_now(chance, rates, RATIO) or swap_now(colder, rates, RATIO)


@given(chances(), st.floats(0, 10))
def test_where_reading_is_free_a_warm_cache_is_kept_to_the_end(chance: Chance, write: float) -> None:
    """Nothing is saved by a swap before `swap_ratio`."""
    warm = replace(chance, idle=0.0, window=10**9)
    assert not swap_now(warm, Rates(2.0, 10.0, write, 0.0), RATIO)


@given(chances(), prices(), st.floats(0.1, 10))
def test_only_the_proportions_of_prices_count(chance: Chance, rates: Rates, factor: float) -> None:
    """Doubling writing and reading alike changes neither saving nor rebuild but by that factor."""
    plain = replace(rates, above=None, long=None)
    scaled = replace(plain, cache_write=plain.cache_write * factor, cache_read=plain.cache_read * factor)
    assert saving(chance, scaled) == pytest.approx(saving(chance, plain) * factor, abs=1e-6)
    assert rebuild(chance, scaled) == pytest.approx(rebuild(chance, plain) * factor, abs=1e-6)
