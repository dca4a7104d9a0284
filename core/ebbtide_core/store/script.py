"""Lua scripts as text, and one run of a script as a typed value. Nothing here does I/O.

A script's text is a clock, the libraries that its first line names (`-- uses: state, breaker`), and its body:

    clock.lua        now_ms(): milliseconds since the epoch, from the server
    lib/<name>.lua   functions shared by several bodies
    <name>.lua       the body: glossary of KEYS and ARGV, rules, reply
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Generic, TypeVar

from ebbtide_core.errors import ContractError

R = TypeVar("R")
Argument = bytes | str | int | float

_USES: Final = re.compile(r"-- uses: ([a-z, ]+)\n")
_TAG: Final = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Script:
    """One composed script: its name, its text, and the SHA-1 of the text by which the server knows it."""

    name: str
    text: str
    sha: str


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """One run of a script: its name, the keys it touches, its arguments, and how its reply is read.

    All keys carry one hash tag, or ValueError is raised: a script touches the keys of one owner only.
    """

    script: str
    keys: tuple[str, ...]
    argv: tuple[Argument, ...]
    decode: Callable[[Any], R]

    def __post_init__(self) -> None:
        tags = {hash_tag(key) for key in self.keys}
        if len(tags) > 1:
            raise ValueError(f"{self.script}: keys of several owners: {sorted(tags)}")

    def result(self, reply: Any) -> R:
        """Return what the server's reply means. Raises ContractError when it can't be read."""
        try:
            return self.decode(reply)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ContractError(
                f"{self.script}: a reply that can't be read: {type(error).__name__}"
            ) from error


def hash_tag(key: str) -> str:
    """Return the part of a key that decides its cluster slot. Raises ValueError when it has none."""
    found = _TAG.search(key)
    if not found:
        raise ValueError(f"a key without a hash tag: {key!r}")
    return found[1]


class Scripts:
    """All scripts of the store, composed. `clock` is the Lua text of another `now_ms`, for tests."""

    def __init__(self, clock: str | None = None) -> None:
        self._clock = _text("clock") if clock is None else clock
        self._composed: dict[str, Script] = {}

    def __getitem__(self, name: str) -> Script:
        if name not in self._composed:
            self._composed[name] = self._compose(name)
        return self._composed[name]

    def _compose(self, name: str) -> Script:
        body = _text(name)
        uses = _USES.match(body)
        libraries = [_text(f"lib/{library.strip()}") for library in uses[1].split(",")] if uses else []
        text = "\n".join([self._clock, *libraries, body])
        return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


def script_names() -> tuple[str, ...]:
    """Return the names of all scripts, sorted."""
    entries = (files(__package__) / "lua").iterdir()
    return tuple(sorted(e.name[:-4] for e in entries if e.name.endswith(".lua") and e.name != "clock.lua"))


@cache
def _text(name: str) -> str:
    return (files(__package__) / "lua" / f"{name}.lua").read_text(encoding="utf-8")


def ms(seconds: float) -> int:
    """Return a duration in whole milliseconds, at least one."""
    return max(1, round(seconds * 1000))


def text(reply: Any) -> str:
    """Return a bulk reply as text."""
    return str(reply, "utf-8")
