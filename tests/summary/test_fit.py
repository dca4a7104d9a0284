"""Fitting a summary into a token budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.summary.summaries import full_summaries, summaries
from tests.summary.talk import tokens

from ebbtide_core.summary.fit import fit, left_out
from ebbtide_core.summary.message import BRIDGE, render
from ebbtide_core.summary.model import LIST_FIELDS, RequestState, Summary

anything = st.one_of(summaries(), full_summaries())
EMPTY_TOKENS = tokens(BRIDGE)


@given(anything, st.integers(-5, 3000))
def test_the_budget_is_a_hard_bound(summary: Summary, budget: int) -> None:
    """At any budget the rendering fits, or it is the empty summary's."""
    fitted = fit(summary, budget, tokens)
    assert tokens(render(fitted)) <= max(budget, EMPTY_TOKENS)
    if budget < EMPTY_TOKENS:
        assert fitted == Summary()


@given(full_summaries(), st.integers(0, 2000), st.randoms(use_true_random=False))
def test_the_bound_holds_for_erratic_counters(summary: Summary, budget: int, random: object) -> None:
    """Even a counter that is not monotone in the text is never overrun by what is returned."""

    def erratic(text: str) -> int:
        return tokens(text) + len(text) * 7919 % 101

    fitted = fit(summary, budget, erratic)
    assert fitted == Summary() or erratic(render(fitted)) <= budget


@given(anything, st.integers(0, 3000))
def test_fitting_only_leaves_out(summary: Summary, budget: int) -> None:
    """Each list of the fitted summary is a part of the whole list, in its order and words."""
    fitted = fit(summary, budget, tokens)
    for name in LIST_FIELDS:
        whole = iter(getattr(summary, name))
        assert all(item in whole for item in getattr(fitted, name))


@given(anything)
def test_what_fits_is_returned_as_it_is(summary: Summary) -> None:
    """With room enough nothing changes and nothing is left out."""
    assert fit(summary, 10**6, tokens) == summary
    assert left_out(summary, summary) == 0


def test_the_counter_is_called_a_dozen_times() -> None:
    """Tokenizing is dear: 450 items don't cost 450 counts."""
    summary = Summary.model_validate({name: [f"{name} {i} " * 8 for i in range(50)] for name in LIST_FIELDS})
    calls: list[int] = []

    def counted(text: str) -> int:
        calls.append(len(text))
        return tokens(text)

    fitted = fit(summary, 2000, counted)
    assert 1900 < tokens(render(fitted)) <= 2000
    assert len(calls) <= 14


def test_left_out_items_are_counted() -> None:
    """The number of items left out is the difference of the lists, and one for a cut text."""
    whole = Summary(active_request="word " * 400, errors=tuple(f"error {i}" for i in range(50)))
    fitted = fit(whole, EMPTY_TOKENS + 60, tokens)
    assert 0 < left_out(whole, fitted) == 50 - len(fitted.errors) + 1


def test_rules_outlive_the_rest() -> None:
    """When little fits, strong rules are kept before listings and errors."""
    rules = tuple(f"Never touch module {i}." for i in range(5))
    others = {name: [f"{name} {i}" for i in range(50)] for name in LIST_FIELDS if name != "user_constraints"}
    whole = Summary.model_validate({**others, "user_constraints": rules})
    fitted = fit(whole, EMPTY_TOKENS + 120, tokens)
    assert fitted.user_constraints == rules
    assert len(fitted.errors) < 10


def test_each_list_keeps_its_newest_items() -> None:
    """Within a list the oldest items go first."""
    whole = Summary(errors=tuple(f"error number {i}" for i in range(50)))
    fitted = fit(whole, EMPTY_TOKENS + 40, tokens)
    assert 0 < len(fitted.errors) < 50
    assert fitted.errors == whole.errors[-len(fitted.errors) :]


def test_a_long_item_does_not_stop_shorter_ones() -> None:
    """An item too large for the room is passed over."""
    whole = Summary(user_constraints=("Never do a.", "Never " + "x" * 490))
    assert fit(whole, EMPTY_TOKENS + 20, tokens).user_constraints == ("Never do a.",)


def test_a_long_request_is_cut_and_leaves_room() -> None:
    """A request larger than the budget keeps its beginning and half of the room is left to the lists."""
    whole = Summary(
        active_request="Migrate the data " + "x" * 3900,
        active_request_state=RequestState.OPEN,
        user_constraints=tuple(f"Never touch module {i}." for i in range(50)),
    )
    fitted = fit(whole, EMPTY_TOKENS + 200, tokens)
    assert fitted.active_request.startswith("Migrate the data")
    assert fitted.active_request.endswith("…")
    assert len(fitted.user_constraints) > 5


def test_short_of_room_an_intent_is_not_said_twice() -> None:
    """An intent that is the beginning of the request goes before anything else does."""
    whole = Summary(
        session_intent="Migrate " + "y" * 400 + "…",
        active_request="Migrate " + "y" * 400 + " and more",
        active_request_state=RequestState.OPEN,
        decisions=("because of z",),
    )
    fitted = fit(whole, tokens(render(whole)) - 50, tokens)
    assert (fitted.session_intent, fitted.active_request) == ("", whole.active_request)
    assert fitted.decisions == whole.decisions
