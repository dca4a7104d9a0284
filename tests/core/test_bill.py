"""Bills of requests: hand-computed, and what holds for all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core.economy.bill import Bill, Part, Request, bill
from ebbtide_core.economy.rates import Rates, rates_for

RATES = Rates(input=2.0, output=10.0, cache_write=2.5, cache_read=0.1)
SYSTEM, ONE, TWO, THREE = Part("system", 1_000), Part(1, 200), Part(2, 300), Part(3, 400)


def prompts() -> st.SearchStrategy[list[Request]]:
    """Requests of a few parts, some after a pause."""
    part = st.builds(Part, st.integers(0, 4), st.just(100))
    idle = st.sampled_from([0.0, 300.0, 301.0])
    return st.lists(st.builds(Request, st.lists(part, max_size=6), st.integers(0, 50), idle), max_size=8)


def test_a_growing_session_reads_what_it_sent_and_writes_the_rest() -> None:
    """1,200 written; 1,200 read and 700 written; with two answers of 10 and 20."""
    found = bill([Request([SYSTEM, ONE], 10), Request([SYSTEM, ONE, TWO, THREE], 20)], RATES)
    assert (found.input, found.written, found.read, found.output) == (0, 1_900, 1_200, 30)
    assert math.isclose(found.dollars, (1_900 * 2.5 + 1_200 * 0.1 + 30 * 10) / 1e6)


def test_a_swap_rebuilds_all_behind_the_first_part_that_differs() -> None:
    """Only the system prompt is read again: what stood behind the removed message is written anew."""
    found = bill([Request([SYSTEM, ONE, TWO, THREE]), Request([SYSTEM, Part("summary", 50), THREE])], RATES)
    assert (found.read, found.written) == (1_000, 1_900 + 450)


def test_a_pause_longer_than_the_caches_life_leaves_nothing_to_read() -> None:
    """At 300 seconds it is still warm, after that all is written."""
    first = Request([SYSTEM])
    assert bill([first, Request([SYSTEM], idle=300.0)], RATES).read == 1_000
    assert bill([first, Request([SYSTEM], idle=300.1)], RATES).read == 0


def test_without_a_cache_all_is_plain_input() -> None:
    """Both prompts at the input price."""
    found = bill([Request([SYSTEM], 1), Request([SYSTEM, ONE], 2)], RATES, cached=False)
    assert found == Bill(input=2_200, output=3, dollars=found.dollars)
    assert math.isclose(found.dollars, (2_200 * 2 + 3 * 10) / 1e6)


@pytest.mark.parametrize(("tokens", "dollars"), [(100_000, 0.01), (100_001, 0.0500005)])
def test_a_long_prompt_costs_the_higher_rate_as_a_whole(tokens: int, dollars: float) -> None:
    """One token more than 100,000 costs five times as much."""
    found = bill([Request([Part("p", tokens)])], rates_for("claude-haiku-5-5"), cached=False)
    assert math.isclose(found.dollars, dollars)


@given(prompts())
def test_every_token_is_billed_once(requests: list[Request]) -> None:
    """Read and written together are the prompts, cached or not; answers cost the same."""
    prompt = sum(part.tokens for request in requests for part in request.prompt)
    cached, plain = bill(requests, RATES), bill(requests, RATES, cached=False)
    assert cached.read + cached.written == plain.input == prompt
    assert cached.output == plain.output == sum(request.output for request in requests)


@given(prompts(), prompts())
def test_bills_add_up_where_no_cache_joins_them(one: list[Request], other: list[Request]) -> None:
    """Sessions billed apart cost what they cost together without a cache."""
    together = bill([*one, *other], RATES, cached=False)
    apart = bill(one, RATES, cached=False) + bill(other, RATES, cached=False)
    assert math.isclose(together.dollars, apart.dollars, abs_tol=1e-12)
    assert (together.input, together.output) == (apart.input, apart.output)


@given(prompts())
def test_a_cache_that_charges_nothing_for_writing_never_costs_more(requests: list[Request]) -> None:
    """Read tokens are cheaper than input, written ones the same."""
    rates = Rates(2.0, 10.0, 2.0, 0.1)
    assert bill(requests, rates).dollars <= bill(requests, rates, cached=False).dollars + 1e-12
