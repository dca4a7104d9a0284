"""Objects that a setting names as `module:object`."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def imported(name: str) -> Any:
    """Return the object that `module:object` names. Raises ImportError, AttributeError or ValueError."""
    where, _, what = name.partition(":")
    return getattr(import_module(where), what)
