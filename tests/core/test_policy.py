"""Settings: their defaults, what they come to for a window, and which of them name a job."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ebbtide_core.economy.rates import Rates
from ebbtide_core.policy import (
    MAX_BUFFER_MESSAGES,
    MAX_MESSAGE_BYTES,
    Mode,
    Policy,
    document,
    fingerprint,
    limits,
)

DEFAULTS: dict[str, Any] = {
    "soft": 0.70,
    "hard": 0.95,
    "keep_recent_messages": 4,
    "io_budget": 0.25,
    "wait_budget": 10,
    "running_lease": 30,
    "claim_lease": 30,
    "max_queue_age": 120,
    "job_deadline": 300,
    "tick": 5,
    "breaker_failures": 3,
    "breaker_cooldown": 5,
    "records_kept": 5,
    "state_ttl": 7 * 24 * 3600,
    "upload_ttl": 24 * 3600,
    "segment_bytes": 256 * 1024,
    "chunk_tokens": 48_000,
    "mode": Mode.ON,
}


def test_the_defaults_are_the_documented_ones() -> None:
    """Those of the table of defaults."""
    policy = Policy()
    assert {name: getattr(policy, name) for name in DEFAULTS} == DEFAULTS
    assert (MAX_MESSAGE_BYTES, MAX_BUFFER_MESSAGES) == (32 * 1024 * 1024, 100_000)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (1_000_000, (700_000, 950_000, 20_000, 8_000, 4_096, 4_096)),
        (200_000, (140_000, 190_000, 20_000, 8_000, 4_096, 4_096)),
        (32_000, (22_400, 30_400, 3_200, 3_200, 4_096, 3_200)),
        (8_000, (5_600, 7_600, 800, 800, 2_000, 800)),
    ],
)
def test_figures_are_capped_and_shares_of_small_windows(window: int, expected: tuple[int, ...]) -> None:
    """Soft, hard, tail, least new, output and summary in tokens."""
    found = limits(Policy(), window)
    assert found.keep_recent_messages == 4
    assert (
        found.soft,
        found.hard,
        found.keep_recent_tokens,
        found.min_new_tokens,
        found.max_tokens,
        found.summary_max_tokens,
    ) == expected


def test_what_is_given_is_taken_as_it_is() -> None:
    """Nought too, where it is allowed; the turn's own max_tokens goes before the policy's."""
    policy = Policy(keep_recent_tokens=0, min_new_tokens=0, max_tokens=9_000, summary_max_tokens=700)
    found = limits(policy, 8_000)
    assert (found.keep_recent_tokens, found.min_new_tokens) == (0, 0)
    assert (found.max_tokens, found.summary_max_tokens) == (9_000, 700)
    assert limits(policy, 8_000, max_tokens=64).max_tokens == 64


@pytest.mark.parametrize(
    "wrong",
    [
        {"soft": 0.95},
        {"soft": 0.96, "hard": 0.95},
        {"soft": 0},
        {"hard": 1.01},
        {"soft": float("nan")},
        {"wait_budget": -1},
        {"keep_recent_messages": 0},
        {"breaker_failures": 0},
        {"softt": 0.5},
        {"mode": "loud"},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    """Soft lies below hard, hard within the window, and a misspelled name is an error."""
    with pytest.raises(ValidationError):
        Policy(**wrong)


def test_a_policy_does_not_change() -> None:
    """Nor do its figures."""
    for value in (Policy(), limits(Policy(), 8_000)):
        with pytest.raises(ValidationError, match="frozen"):
            value.soft = 1


SUMMARY_FIELDS: dict[str, Any] = {
    "chunk_tokens": 9_000,
    "summary_max_tokens": 1_000,
    "summariser": "anthropic",
    "language": "de",
}


@pytest.mark.parametrize(("name", "value"), SUMMARY_FIELDS.items())
def test_a_field_that_changes_a_summary_changes_the_job_s_name(name: str, value: Any) -> None:
    """So a job under another policy is another job."""
    changed = document(Policy(**{name: value}), 200_000)
    assert fingerprint(changed) != fingerprint(document(Policy(), 200_000))


def test_no_other_field_does() -> None:
    """Two hosts with other watermarks or leases meet the same job and the same memos."""
    others: dict[str, Any] = {
        "soft": 0.5,
        "hard": 0.9,
        "swap_ratio": 0.8,
        "rates": Rates(input=1, output=2, cache_write=1, cache_read=0),
        "superseding": {},
        "keep_recent_tokens": 10,
        "keep_recent_messages": 1,
        "min_new_tokens": 10,
        "max_tokens": 100,
        "breaker_cooldown_seconds": 60.0,
        "mode": Mode.SHADOW,
    }
    rest = set(Policy.model_fields) - set(SUMMARY_FIELDS) - set(others)
    changed = {name: type(getattr(Policy(), name))(getattr(Policy(), name) * 2) for name in rest}
    name = fingerprint(document(Policy(), 200_000))
    assert fingerprint(document(Policy(**others, **changed), 200_000)) == name
    assert fingerprint(document(Policy(), 1_000_000)) == name
    assert fingerprint(document(Policy(), 8_000)) != name
