"""The outage benchmark."""

from __future__ import annotations

from bench.outage import PHASES, Trial


def trial(longest: float, flowed: float, *raised: tuple[str, str]) -> Trial:
    """A trial in which each phase has a hundred turns of 10 ms, and the last one a longer one."""
    found = Trial("sync, broker", raised=list(raised), flowed={"thawed": 0.1, "back": flowed})
    for phase in PHASES:
        found.seconds[phase] += [0.01] * 100
        found.late[phase] += [0.002]
    found.seconds["back"].append(longest)
    return found


def test_what_law_10_promises_is_judged_by_the_worst_phase() -> None:
    """Each bound can be missed by itself."""
    assert [goal.met for goal in trial(0.7, 9.0).goals()] == [True, True, True, True]
    assert [goal.met for goal in trial(0.9, 9.0).goals()] == [True, False, True, True]
    assert [goal.met for goal in trial(0.7, 11.0).goals()] == [True, True, False, True]
    assert [goal.met for goal in trial(0.7, 9.0, ("gone", "OSError")).goals()][-1] is False


def test_each_phase_has_a_row() -> None:
    """With its turns, its times, what was raised in it, and when jobs flowed."""
    rows = list(trial(0.7, 9.0, ("gone", "OSError")).rows())
    assert [row[0] for row in rows] == [f"sync, broker, {phase}" for phase in PHASES]
    assert rows[3][1:] == (100, 10.0, 10.0, 10.0, 2.0, 2.0, 1, "")
    assert rows[4][1:] == (101, 10.0, 10.0, 700.0, 2.0, 2.0, 0, 9.0)
