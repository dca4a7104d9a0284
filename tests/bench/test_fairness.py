"""The benchmark of fairness runs, and judges what it promises to. No figure of time is looked at."""

from __future__ import annotations

import random

import pytest
from bench.fairness import Load

from bench import fairness


@pytest.mark.processes
@pytest.mark.timeout(300)
def test_a_quick_run_has_all_rows_and_judges_every_goal() -> None:
    """Without a cap, with one, one tenant alone; ranks are those of fair turns, and takes are bounded."""
    result = fairness.run(quick=True)
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    assert [row[""] for row in rows] == ["no cap", "a cap of 2", "one tenant has them all"]
    assert [row["jobs"] for row in rows] == [16] * 3
    assert [row["highest"] for row in rows] == [6, 6, ""]
    goals = {goal.what.split()[0]: goal.met for goal in result.goals}
    assert list(goals) == ["Median", "Highest", "Time", "Most"]
    assert goals["Median"]
    assert goals["Highest"]
    assert goals["Most"]


def test_a_load_is_of_tenants_whose_names_say_nothing() -> None:
    """The large tenant's jobs come first, every session is another, and each draw has other names."""
    load = Load(200, 4, 5)
    owners = load.owners(random.Random(1))
    assert load.jobs == len(owners) == len(set(owners)) == 220
    assert len({owner.tenant for owner in owners[:200]}) == 1
    assert len({owner.tenant for owner in owners[200:]}) == 4
    assert not set(owners) & set(load.owners(random.Random(2)))
