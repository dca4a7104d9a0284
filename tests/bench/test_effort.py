"""The benchmark of effort runs, and its figures hang together."""

from __future__ import annotations

from typing import Any

import pytest
from bench.effort.asked import Asked, asked

from bench import effort
from ebbtide_core.summary.model import Summary
from ebbtide_worker.summarisers.base import Chunk, Partial, Terms
from ebbtide_worker.summarisers.forms import Request, joined, notes


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_a_quick_run_counts_what_each_way_reads() -> None:
    """Sessions are read about once with Ebbtide, and more often without memory; each goal is judged."""
    result = effort.run(quick=True)
    figures = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    ratios = [float(figure["summarised a source token"]) for figure in figures]
    assert [figure["compactions"] for figure in figures] == [2, 2, 2, 4, 4, 4, 2, 2]
    for ours, everything, buffers in (ratios[:3], ratios[3:6]):
        assert 0.9 < ours < everything
        assert buffers < everything
    faulty, had_they_been_paid = ratios[6:]
    assert 0.9 < faulty < had_they_been_paid
    assert len(result.goals) == 3
    assert all(goal.met for goal in result.goals)


TERMS = Terms("acme", "", 500, len)
CHUNK = Chunk("messages 0 to 9", (), "one two three", 3)


def words(text: str) -> int:
    """A token is a word."""
    return len(text.split())


def logged(request: Request, output: int | None) -> dict[str, Any]:
    """Return the log's entry of a request: answered with so many tokens, or failed."""
    said = [{"role": "user", "content": request.user}]
    body = {"system": request.system, "messages": said, "output_config": {}}
    return {"body": body, "usage": None if output is None else {"output_tokens": output}}


def test_what_is_shown_of_messages_is_told_from_what_is_around_it() -> None:
    """A failed call counts like others, but has no answer."""
    request = notes(CHUNK, TERMS, lambda: "mark")
    told = asked([logged(request, 7), logged(request, None)], words)
    around = words(request.system) + words(request.user) + words("{}")
    assert told == Asked(calls=2, shown=2 * 3, base=0, input=2 * around, output=7)


def test_a_merge_reads_the_last_summary_again() -> None:
    """Its line counts as base; the notes on the chunks count as input only."""
    part = Partial(Summary(session_intent="four words are here"), label="part 1 of 1")
    with_base = joined([part], Summary(session_intent="another"), TERMS, lambda: "mark")
    line = next(line for line in with_base.user.splitlines() if "another" in line)
    told = asked([logged(with_base, 1)], words)
    assert (told.shown, told.base) == (0, words(line))
    without = joined([part, part], None, TERMS, lambda: "mark")
    assert asked([logged(without, 1)], words).base == 0
