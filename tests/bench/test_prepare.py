"""The benchmark of a turn measures what it says: each row's hosts are in the state that names it."""

from __future__ import annotations

from bench.prepare import measure, run


def test_it_measures_every_row_and_judges_every_goal() -> None:
    """Small sizes: what the figures are is not looked at, but those that are counts."""
    result = run(quick=True)
    assert [row[0] for row in result.rows] == [measure.BARE, *measure.ROWS]
    assert all(len(row) == len(result.columns) for row in result.rows)
    assert all(isinstance(cell, int | float) and cell > 0 for row in result.rows for cell in row[2:5])
    sizes = {row[0]: row[1] for row in result.rows}
    assert sizes[measure.LARGE] == 2_003
    assert sizes[measure.BELOW] == 203
    assert len(result.goals) == 6
    assert result.goals[-1].what.startswith("tokenizer runs")
