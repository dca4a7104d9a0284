"""`--swaps-out`: which turns have a line, and what it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ebbtide_cli.replay.drive import Step
from ebbtide_cli.replay.swaps import SwapsFile, swap_line
from ebbtide_core.decide import Action, Reason
from tests.cli.figures import SWAP_KEYS
from tests.cli.turns import record, swapped, talk, transcript, turn, user

TALK = list(talk(4))
GIVEN = transcript(TALK, system="s")


def step(**given: Any) -> Step:
    """A turn of a host that was given the first six messages."""
    return Step(3, 6, TALK[:6], turn(**given), False, 0.0)


def test_a_turn_that_changes_nothing_has_no_line() -> None:
    """Also not when the host returns equal copies."""
    assert swap_line(GIVEN, step(buffer=TALK[:6])) is None
    assert swap_line(GIVEN, step(buffer=[dict(m) for m in TALK[:6]])) is None


def test_a_swap_has_a_line_with_its_record() -> None:
    """The keys bind; the view is null when it is the kept buffer."""
    kept, swap = swapped(TALK[:6], record(4, [(0, 4)]), 4)
    made = step(buffer=kept, swap=swap, action=Action.SWAP, reason=Reason.RECORD_READY)
    line = swap_line(GIVEN, made)
    assert line is not None
    assert list(line) == SWAP_KEYS
    assert (line["session"], line["turn"], line["action"], line["reason"]) == ("t", 3, "swap", "record_ready")
    assert (line["before"], line["after"], line["view"]) == (TALK[:6], kept, None)
    assert (line["carried"], line["degraded"], line["system"]) == ([], False, "s")
    assert line["record"]["coverage"][0]["stop"] == 4


def test_a_degraded_turn_has_a_line_with_its_view() -> None:
    """The buffer is kept, and what was sent is told."""
    line = swap_line(GIVEN, step(buffer=TALK[:6], sent=TALK[4:6], degraded=True))
    assert line is not None
    assert (line["after"], line["view"]) == (TALK[:6], TALK[4:6])
    assert (line["carried"], line["record"], line["degraded"]) == (None, None, True)


def test_the_file_holds_a_line_for_each_and_keeps_lone_surrogates(tmp_path: Path) -> None:
    """Every line is JSON, and messages come out as they went in."""
    odd = user("half a pair: \ud83d")
    path = tmp_path / "swaps.jsonl"
    with SwapsFile(path) as swaps:
        swaps.write(GIVEN, step(buffer=TALK[:6]))
        swaps.write(GIVEN, step(buffer=TALK[:6], sent=[odd]))
        swaps.write(GIVEN, step(buffer=TALK[:6], sent=[]))
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    assert [line["view"] for line in lines] == [[odd], []]


def test_a_file_that_can_not_be_written_is_an_error_at_once(tmp_path: Path) -> None:
    """The replay does not begin."""
    with pytest.raises(OSError, match="No such file"):
        SwapsFile(tmp_path / "missing" / "x.jsonl")
