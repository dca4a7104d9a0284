"""The evaluation of the trigger."""

from __future__ import annotations

import pytest

from ebbtide.harness import CompactionShimConfig, ContextSignal, estimate_message_tokens
from ebbtide.harness.signal import evaluate
from tests.harness.runs import RunState
from tests.harness.talk import answered, user


def signal(local: int, reported: int | None) -> ContextSignal:
    """The signal of a request of `local` tokens, at a trigger of 10, after a response of `reported`."""
    state = RunState(instructions=None, history=[user(local)])
    if reported is not None:
        state.responses += [
            answered("older", (500, 500)),
            answered("newer", (reported, 0)),
            answered("silent"),
        ]
    return evaluate(
        state, CompactionShimConfig(context_window=100, trigger_tokens=10), estimate_message_tokens
    )


@pytest.mark.parametrize(
    ("local", "reported", "effective", "source"),
    [
        (8, None, 8, "estimate"),
        (12, None, 12, "estimate"),
        (10, 14, 14, "server_usage"),
        (12, 12, 12, "server_usage"),
        (8, 8, 8, "server_usage"),
        (8, 14, 8, "mixed"),
        (20, 14, 20, "mixed"),
    ],
)
def test_what_was_reported_counts_only_with_the_estimate(
    local: int, reported: int | None, effective: int, source: str
) -> None:
    """Reported usage raises an estimate that is at the trigger by itself, and triggers nothing alone."""
    found = signal(local, reported)
    assert (found.estimated_tokens, found.source, found.reported_tokens) == (effective, source, reported)
    assert found.triggered is (local >= 10)


def test_the_figures_of_a_signal() -> None:
    """Instructions are measured apart; what remains can be negative."""
    state = RunState(instructions="x" * 40, history=[user(100)])
    found = evaluate(state, CompactionShimConfig(context_window=100), estimate_message_tokens)
    assert (found.estimated_tokens, found.instructions_tokens, found.trigger_tokens) == (110, 10, 90)
    assert (found.remaining_tokens, found.used_fraction) == (-10, 1.1)
    assert (found.turn_count, found.history_item_count) == (3, 1)


def test_no_window_is_a_full_one() -> None:
    """A signal made by hand without a window does not divide by zero."""
    found = ContextSignal(
        estimated_tokens=5,
        reported_tokens=None,
        instructions_tokens=0,
        context_window=0,
        trigger_tokens=1,
        source="estimate",
        turn_count=0,
        history_item_count=0,
    )
    assert found.used_fraction == 1.0
