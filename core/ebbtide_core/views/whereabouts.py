"""The directory that a shell is in: what a relative path or a bare command looks at depends on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ebbtide_core.summary.words import words

_PLACES: Final = words(
    """
    path paths file_path filepath absolute_path file_paths target_file notebook_path dir dir_path dirpath
    directory target_directory file cwd workdir working_directory
    """
)
_ABSOLUTE: Final = re.compile(r"[\"']?(?:[/~\\]|[A-Za-z]:[/\\])")
_GO: Final = re.compile(r"(?:^|[;&|\n])[ \t]*(?:cd|pushd|popd)\b[ \t]*([^\s;&|]*)")
_ELSEWHERE: Final = frozenset({"", "-"})


def anchored(arguments: Mapping[str, Any]) -> bool:
    """Say whether a call names its place itself: by an absolute path, or a command that first goes to one."""
    first = _GO.match(_command(arguments))
    named = [value for name, value in arguments.items() if name in _PLACES and isinstance(value, str)]
    return any(_ABSOLUTE.match(place) for place in (*named, *([first[1]] if first else ())))


@dataclass(slots=True)
class Whereabouts:
    """Follows shell commands from directory to directory, as far as they tell.

    `place` names the present one. One that can't be told is never the same as another.
    """

    place: str = ""
    _last: str = ""
    _moves: int = 0

    def follow(self, arguments: Mapping[str, Any]) -> None:
        """Take the arguments of one more call."""
        for found in _GO.finditer(_command(arguments)):
            self._go(found[1])

    def lost(self) -> None:
        """Take note of calls that can't be seen."""
        self._moves += 1
        self.place, self._last = f"?{self._moves}", ""

    def _go(self, to: str) -> None:
        """The same subdirectory twice in a row is the same place: many hosts begin each command anew."""
        if _ABSOLUTE.match(to):
            self.place = to
        elif to in _ELSEWHERE or ".." in to or to != self._last:
            self.lost()
        self._last = to


def _command(arguments: Mapping[str, Any]) -> str:
    """Return what a shell is told; a list as `command` is one program, which can't lead it anywhere."""
    command, several = arguments.get("command"), arguments.get("commands")
    if isinstance(several, list):
        return "\n".join(line for line in several if isinstance(line, str))
    return command if isinstance(command, str) else ""
