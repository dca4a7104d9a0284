"""Merging summaries by code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.summary.summaries import full_summaries, pooled, summaries

from ebbtide_core.summary.caps import capped
from ebbtide_core.summary.merge import merge
from ebbtide_core.summary.model import LIST_FIELDS, MAX_ITEMS, RequestState, Summary

few = summaries(pooled)


@given(few, few, few)
def test_merging_in_two_steps_is_merging_at_once(a: Summary, b: Summary, c: Summary) -> None:
    """A tree of merges, bracketed to either side, gives what one merge gives."""
    assert merge([merge([a, b]), c]) == merge([a, b, c]) == merge([a, merge([b, c])])


@given(st.lists(few, min_size=1, max_size=3))
def test_merging_again_changes_nothing(parts: list[Summary]) -> None:
    """A part given twice says nothing new, and a merged summary merges to itself."""
    once = merge(parts)
    assert merge([once]) == once
    assert merge([once, once]) == once


@given(few)
def test_empty_parts_change_nothing(part: Summary) -> None:
    """A part that says nothing neither adds nor resets anything."""
    assert merge([Summary(), part, Summary()]) == merge([part])
    assert merge([]) == Summary()


@given(st.lists(st.one_of(full_summaries(), few), min_size=2, max_size=4))
def test_merged_summaries_stay_within_the_limits(parts: list[Summary]) -> None:
    """However much comes together, the outcome is a valid summary without blank or repeated items."""
    merged = merge(parts)
    assert Summary.model_validate(merged.model_dump()) == merged
    for name in LIST_FIELDS:
        items = getattr(merged, name)
        assert len(set(items)) == len(items) <= MAX_ITEMS
        assert all(item.strip() for item in items)


def test_rules_of_all_parts_survive() -> None:
    """An early rule and a late one that contradicts it both stay, in their order."""
    merged = merge([Summary(user_constraints=("Use tabs.",)), Summary(user_constraints=("Never use tabs.",))])
    assert merged.user_constraints == ("Use tabs.", "Never use tabs.")


def test_equal_items_stay_once_as_last_worded() -> None:
    """Items that differ in case, spaces and closing dots are one; the later wording and place stay."""
    merged = merge([Summary(decisions=("Use  redis.", "b")), Summary(decisions=("use Redis",))])
    assert merged.decisions == ("b", "use Redis")


def test_names_are_equal_only_when_identical() -> None:
    """Paths and identifiers that differ in case are different names."""
    merged = merge([Summary(files_touched=("README.md",)), Summary(files_touched=("readme.md",))])
    assert merged.files_touched == ("README.md", "readme.md")


@pytest.mark.parametrize("name", ["next_steps", "pending_questions"])
def test_earlier_outlook_is_overtaken(name: str) -> None:
    """Next steps and questions of an earlier part do not come back as open work."""
    early = Summary.model_validate({name: ("audit a.py",)})
    assert getattr(merge([early, Summary(completed=("Audit finished.",))]), name) == ()


def test_obligation_goes_once_completed() -> None:
    """An obligation stays until a later part lists it as completed."""
    owed = Summary(open_obligations=("send the report", "call back"))
    assert merge([owed, Summary(errors=("x",))]).open_obligations == owed.open_obligations
    assert merge([owed, Summary(completed=("Send the report.",))]).open_obligations == ("call back",)


def test_last_request_comes_with_the_last_state() -> None:
    """A part without request reports how the earlier request ended; a request without state is open."""
    asked = Summary(active_request="do x", active_request_state=RequestState.OPEN)
    done = Summary(active_request_state=RequestState.DONE)
    assert merge([asked, done]).active_request_state is RequestState.DONE
    assert merge([asked, done]).active_request == "do x"
    assert merge([asked, done, Summary(active_request="do y")]).active_request_state is RequestState.OPEN


def test_first_intent_stays() -> None:
    """The session's intent is what it began with."""
    assert merge([Summary(session_intent="a"), Summary(session_intent="b")]).session_intent == "a"


def test_full_lists_keep_the_later_items() -> None:
    """Over the cap the oldest identifiers go."""
    parts = [Summary(identifiers=tuple(f"id-{part}-{i}" for i in range(40))) for part in range(2)]
    kept = merge(parts).identifiers
    assert kept == (*(f"id-0-{i}" for i in range(30, 40)), *(f"id-1-{i}" for i in range(40)))


def test_full_lists_keep_an_old_strong_rule() -> None:
    """Over the cap a clear prohibition from the beginning outlives later weak ones."""
    rules = ("Never deploy on Fridays.", *(f"I'd prefer option {i} here." for i in range(49)))
    later = tuple(f"Keep it below {i} lines if possible, rather." for i in range(30))
    kept = merge([Summary(user_constraints=rules), Summary(user_constraints=later)]).user_constraints
    assert kept[0] == "Never deploy on Fridays."
    assert len(kept) == MAX_ITEMS


def test_capped_trims_items_of_any_length() -> None:
    """Over-long texts are cut with an ellipsis; blank items and lone surrogates go."""
    made = capped({"errors": ["x" * 900, "  ", "bad \ud83d"]}, active_request="y" * 9000, language="z" * 99)
    assert made.errors == ("x" * 499 + "…", "bad \ufffd")
    assert made.active_request == "y" * 3999 + "…"
    assert len(made.language) == 32
