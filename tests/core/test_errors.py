"""Errors say where and what to do, and are one tree."""

from __future__ import annotations

import pickle

import pytest

from ebbtide_core import errors
from ebbtide_core.errors import EbbtideError, InputError, LimitError, SummaryRejected, UnfittableRequest


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("is wrong"), "is wrong"),
        (InputError("is wrong", index=3), "message 3: is wrong"),
        (InputError("is wrong", path="tenant"), "tenant: is wrong"),
        (InputError("is wrong", index=0, path="content[1].text"), "message 0, content[1].text: is wrong"),
    ],
)
def test_an_input_error_says_where(error: InputError, sentence: str) -> None:
    """Index and path, as far as they are known."""
    assert str(error) == sentence


def test_an_error_placed_at_a_message_keeps_its_kind() -> None:
    """A limit stays a limit."""
    placed = LimitError("too large", path="content").at(7)
    assert type(placed) is LimitError
    assert (placed.index, placed.path, placed.problem) == (7, "content", "too large")


def test_an_unfittable_request_carries_numbers_and_turn() -> None:
    """Nothing is lost, and the sentence says what to shorten."""
    turn = object()
    error = UnfittableRequest(projected=130_000, limit=64_000, smallest=120_000, turn=turn)
    assert (error.projected, error.limit, error.smallest, error.turn) == (130_000, 64_000, 120_000, turn)
    for part in ("130000", "120000", "64000", "Shorten"):
        assert part in str(error)


def test_a_rejected_summary_lists_its_reasons() -> None:
    """Each check that failed."""
    error = SummaryRejected(["truncated", "too long"])
    assert error.reasons == ("truncated", "too long")
    assert str(error) == "truncated; too long"


def test_every_error_is_an_ebbtide_error_and_says_what_to_do() -> None:
    """One name catches all; each has a docstring for whoever must act."""
    kinds = [v for v in vars(errors).values() if isinstance(v, type) and issubclass(v, Exception)]
    assert len(kinds) >= 8
    for kind in kinds:
        assert issubclass(kind, EbbtideError)
        assert kind.__doc__


def test_plain_errors_survive_pickling() -> None:
    """They may cross a process border with their message."""
    for kind in (errors.StoreUnavailable, errors.ContractError, errors.NotApplicable):
        again = pickle.loads(pickle.dumps(kind("why")))
        assert (type(again), str(again)) == (kind, "why")
