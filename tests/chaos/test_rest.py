"""When a session is well again after the last fault, and what is said of one that is not."""

from __future__ import annotations

from chaos.rest import TURNS, unwellness

from tests.chaos.evidence import turn

WELL = turn(20)
DEGRADED = turn(20, degraded=True, reason="no_record_in_time", claim="busy")
FAULTY = turn(20, faults=["store: away"])


def test_a_session_is_well_with_one_good_turn_after_the_first_few() -> None:
    """Even if it was degraded again since."""
    assert unwellness("h0s0", [WELL] * TURNS) == ""
    assert unwellness("h0s0", [DEGRADED] * TURNS + [WELL, DEGRADED]) == ""


def test_what_is_not_well_is_told_with_its_reason() -> None:
    """Too few turns, degraded ever since, faults ever since."""
    assert unwellness("h0s0", [WELL] * (TURNS - 1)) == f"h0s0 took {TURNS - 1} turns since the last fault"
    degraded = unwellness("h0s0", [WELL] * (TURNS - 1) + [DEGRADED] * 3)
    assert degraded == "h0s0 is still degraded (no_record_in_time, claim busy)"
    assert unwellness("h0s0", [FAULTY] * TURNS) == "h0s0 still meets faults (store: away)"
