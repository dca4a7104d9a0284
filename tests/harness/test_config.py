"""Settings of shim and compactor."""

from __future__ import annotations

from typing import Any

import pytest

from ebbtide.harness import CompactionShimConfig, DefaultCompactorConfig


def test_the_documented_defaults() -> None:
    """A configuration without settings is the documented one."""
    shim, compactor = CompactionShimConfig(context_window=128_000), DefaultCompactorConfig()
    assert (shim.trigger_ratio, shim.trigger_tokens, shim.on_failure) == (0.9, None, "inject")
    assert (shim.name, shim.failures_to_pause, shim.pause_turns) == ("compaction", 3, 5)
    assert (compactor.keep_recent_tokens, compactor.keep_recent_messages) == (20_000, 4)
    assert (compactor.summary_max_tokens, compactor.summary_placement) == (4_096, "before_tail")


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"context_window": 128_000}, 115_200),
        ({"context_window": 1}, 1),
        ({"context_window": 100, "trigger_ratio": 0.001}, 1),
        ({"context_window": 100, "trigger_ratio": 1}, 100),
        ({"context_window": 100, "trigger_ratio": 0.5, "trigger_tokens": 65}, 65),
        ({"context_window": 100, "trigger_tokens": 100}, 100),
    ],
)
def test_the_trigger_in_tokens(settings: dict[str, Any], tokens: int) -> None:
    """An absolute trigger wins over the ratio, and no trigger is below one token."""
    assert CompactionShimConfig(**settings).resolved_trigger_tokens() == tokens


@pytest.mark.parametrize(
    "wrong",
    [
        {"context_window": 0},
        {"trigger_ratio": 0},
        {"trigger_ratio": 1.01},
        {"trigger_tokens": 0},
        {"trigger_tokens": 101},
        {"on_failure": "ignore"},
        {"name": ""},
        {"failures_to_pause": 0},
        {"pause_turns": 0},
    ],
)
def test_a_shim_setting_out_of_range_is_named(wrong: dict[str, Any]) -> None:
    """The error names the setting."""
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        CompactionShimConfig(**{"context_window": 100, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompt": ""},
        {"summary_bridge": ""},
        {"keep_recent_tokens": 0},
        {"keep_recent_messages": 0},
        {"summary_placement": "middle"},
        {"summary_max_tokens": 0},
    ],
)
def test_a_compactor_setting_out_of_range_is_named(wrong: dict[str, Any]) -> None:
    """The error names the setting."""
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        DefaultCompactorConfig(**wrong)


def test_settings_never_change() -> None:
    """Both are frozen and take keywords only."""
    with pytest.raises(AttributeError):
        DefaultCompactorConfig().prompt = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        CompactionShimConfig(100)  # type: ignore[call-arg]
