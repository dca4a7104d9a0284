"""The configuration page tells every setting with its default and meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ebbtide_cli.settings import PREFIX, Settings
from ebbtide_core.policy import Mode, Policy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


OPTIONAL = {"breaker_cooldown_seconds"}
"""Settings that are off when not given; other defaults of None are derived."""


def shown(name: str, default: Any) -> str:
    """Return a default as the page writes it."""
    if default is None:
        return "none" if name in OPTIONAL else "derived"
    if isinstance(default, Mode):
        return f"`{default.value}`"
    if isinstance(default, str):
        return f"`{default}`" if default else '""'
    return f"{default:,.12g}"


@pytest.mark.parametrize("name", sorted(Policy.model_fields))
def test_every_policy_setting_is_on_the_page(name: str) -> None:
    """The page has a row with the setting's name, default and description."""
    field = Policy.model_fields[name]
    assert f"| `{name}` | {shown(name, field.default)} | {field.description} |" in PAGE.read_text()


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_process_setting_is_on_the_page(name: str) -> None:
    """The page has a row with the variable's name, default and description."""
    field = Settings.model_fields[name]
    row = f"| `{PREFIX}{name.upper()}` | {shown(name, field.default)} | {field.description} |"
    assert row in PAGE.read_text()
