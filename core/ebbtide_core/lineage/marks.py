"""Marks that a host sets on its own messages; the buffer keeps them, the model never sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ebbtide_core.errors import InputError

KEY: Final = "ebbtide"


@dataclass(frozen=True, slots=True)
class Marks:
    """ephemeral: outside the lineage, kept as it is. internal: no anchor for the tail. pinned: never
    summarised."""

    ephemeral: bool = False
    internal: bool = False
    pinned: bool = False


NONE: Final = Marks()
_NAMES: Final = ("ephemeral", "internal", "pinned")


def mark(
    message: Mapping[str, Any],
    *,
    ephemeral: bool | None = None,
    internal: bool | None = None,
    pinned: bool | None = None,
) -> dict[str, Any]:
    """Return a shallow copy of the message with marks set (True), removed (False) or as they were (None)."""
    old = message.get(KEY)
    marks = dict(old) if isinstance(old, Mapping) else {}
    for name, value in (("ephemeral", ephemeral), ("internal", internal), ("pinned", pinned)):
        if value is not None:
            marks[name] = value
    marked = {k: v for k, v in message.items() if k != KEY}
    kept = {name: value for name, value in marks.items() if value}
    return {**marked, KEY: kept} if kept else marked


def read_marks(message: Mapping[str, Any]) -> Marks:
    """Return the message's marks, `NONE` itself only when the key is absent: a key without marks goes too.

    Raises InputError when the key holds something else.
    """
    if KEY not in message:
        return NONE
    raw = {} if message[KEY] is None else message[KEY]
    if not isinstance(raw, Mapping) or any(not isinstance(v, bool) for v in raw.values()):
        raise InputError("marks are set with ebbtide.mark(message, …): an object of booleans", path=KEY)
    return Marks(*(bool(raw.get(name, False)) for name in _NAMES))


def unmarked(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message as it is sent: without marks, the same object when it has none."""
    return {k: v for k, v in message.items() if k != KEY} if KEY in message else message
