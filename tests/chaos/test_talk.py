"""What sessions say is valid, names itself, and is the same each time."""

from __future__ import annotations

import pytest
from chaos.spans import numbers, spans
from chaos.talk import name, number_of, said, session_of
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.replay.provider_rules import broken_rules
from tests.standin.prompt import MESSAGE_ID


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_a_session_is_valid_and_each_message_is_known_by_its_number(dialect: str) -> None:
    """After each round, by the provider's rules; results name themselves in every part."""
    chat = [said(dialect, "h0s1", number) for number in range(241)]
    assert chat == [said(dialect, "h0s1", number) for number in range(241)]
    assert [number_of(message) for message in chat] == list(range(241))
    for stop in range(1, 242, 2):
        assert broken_rules("anthropic" if dialect == "anthropic" else "openai", chat[:stop]) == []
    assert {n for m in chat for n in MESSAGE_ID.findall(str(m))} == {name("h0s1", n) for n in range(241)}


def test_a_name_tells_its_session() -> None:
    """Sessions are told apart by it in the stand-in's log."""
    assert session_of(name("h12s3", 7)) == "h12s3"
    assert number_of({"role": "user", "content": "Some messages were left out."}) is None
    assert number_of({"role": "user", "content": []}) is None


@given(st.lists(st.integers(0, 50)))
def test_numbers_come_out_of_spans_as_they_went_in(given_numbers: list[int]) -> None:
    """Order and repetitions too."""
    assert numbers(spans(given_numbers)) == given_numbers


def test_spans_are_short() -> None:
    """A run is one pair."""
    assert spans([0, 1, 2, 7, 7]) == [[0, 3], [7, 8], [7, 8]]
