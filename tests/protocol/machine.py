"""How the state machines are run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

DEPTH: Final = int(os.environ.get("EBBTIDE_PROTOCOL_DEPTH", "1"))
"""Multiplies the number of examples; a deep run (above 1) draws other ones each time."""

STEPS: Final = 40


def check(machine: type[RuleBasedStateMachine], examples: int) -> None:
    """Run examples of a state machine."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples * DEPTH,
            stateful_step_count=STEPS,
            derandomize=DEPTH == 1,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
