"""The benchmark of the worker runs, and judges what it promises to. No figure of time is looked at."""

from __future__ import annotations

import re

import pytest
from bench.work.ideal import rounds

from bench import work


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_a_quick_run_has_all_rows_and_judges_every_goal() -> None:
    """With the model, the SDK alone for the same calls, without a model; each job within its round trips."""
    result = work.run(quick=True)
    names = [row[0] for row in result.rows]
    assert names == ["Ebbtide, chunks of 1,000", "the SDK alone, same calls", "Ebbtide, extractive"]
    figures = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    model, alone, extractive = figures
    assert (model["jobs"], model["calls"]) == (4, 16)
    assert (alone["jobs"], alone["calls"]) == (4, 16)
    assert (extractive["jobs"], extractive["calls"]) == (4, 0)
    assert [goal.what.split()[0] for goal in result.goals] == ["Share", "Round", "Peak"]
    assert result.goals[1].met
    [most] = [int(n) for note in result.notes for n in re.findall(r"At most (\d+) calls", note)]
    assert 1 < most <= work.IN_FLIGHT
    assert len(result.columns) == len(set(result.columns))


@pytest.mark.parametrize(
    ("jobs", "chunks", "expected"),
    [(1, 8, 2), (2, 8, 2), (3, 8, 3), (16, 1, 2), (17, 1, 4), (1, 20, 4), (96, 8, 55)],
)
def test_jobs_in_order_take_so_many_rounds_of_calls(jobs: int, chunks: int, expected: int) -> None:
    """16 calls at a time, 8 of one job; the merge comes a round after the last chunk."""
    assert rounds(jobs, chunks, in_flight=16, per_job=8) == expected
