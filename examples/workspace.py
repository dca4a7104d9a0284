"""What the agents of the examples may do: look around in one folder, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

MOST_CHARACTERS: Final = 8_000
MOST_LINES: Final = 200
MOST_BYTES: Final = 1_000_000

PATH: Final = {"path": {"type": "string", "description": "relative to the folder; . is the folder itself"}}
TEXT: Final = {"text": {"type": "string", "description": "found as it is, in upper or lower case"}}
LINE: Final = {"first_line": {"type": "integer", "minimum": 1, "description": "where to begin (1)"}}

TOOLS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "list_files": (
        "List the files and folders of a folder.",
        {"type": "object", "properties": PATH, "required": ["path"]},
    ),
    "read_file": (
        f"Read a text file, at most {MOST_CHARACTERS} characters at once.",
        {"type": "object", "properties": {**PATH, **LINE}, "required": ["path"]},
    ),
    "search": (
        "Search a file, or all files below a folder, for lines that hold a text.",
        {"type": "object", "properties": {**PATH, **TEXT}, "required": ["path", "text"]},
    ),
}
"""Each tool's description and the JSON schema of its arguments."""


class Workspace:
    """The folder that the agent sees."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def run(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return what a tool finds; what goes wrong is told in words, for the model to read."""
        try:
            path = self._inside(arguments["path"])
            match tool:
                case "list_files":
                    return _lines(f"{at.name}/" if at.is_dir() else at.name for at in sorted(path.iterdir()))
                case "read_file":
                    return _part(path.read_text(errors="replace"), arguments.get("first_line", 1))
                case "search":
                    return _lines(self._matches(path, arguments["text"].lower()))
                case _:
                    return f"Error: there is no tool {tool!r}"
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            return f"Error: {error!r}"

    def _inside(self, path: str) -> Path:
        """Return the real place of a path, links followed. Raises ValueError when it is not in the folder."""
        found = (self._folder / path).resolve()
        if not found.is_relative_to(self._folder):
            raise ValueError(f"{path} is outside the folder")
        return found

    def _matches(self, path: Path, text: str) -> Iterator[str]:
        for file in filter(self._searched, sorted(path.rglob("*")) if path.is_dir() else [path]):
            lines = enumerate(file.read_text(errors="replace").splitlines(), 1)
            name = file.relative_to(self._folder)
            yield from (f"{name}:{n}: {line[:200]}" for n, line in lines if text in line.lower())

    def _searched(self, file: Path) -> bool:
        """Hidden and very large files are left out, and links that lead out of the folder."""
        hidden = any(part.startswith(".") for part in file.relative_to(self._folder).parts)
        inside = not hidden and file.is_file() and file.resolve().is_relative_to(self._folder)
        return inside and file.stat().st_size <= MOST_BYTES


def _lines(lines: Iterator[str]) -> str:
    found = list(islice(lines, MOST_LINES + 1))
    more = ["… and more"] if len(found) > MOST_LINES else []
    return "\n".join([*found[:MOST_LINES], *more]) or "Nothing."


def _part(text: str, first_line: int) -> str:
    rest = "".join(text.splitlines(keepends=True)[max(first_line, 1) - 1 :])
    return rest[:MOST_CHARACTERS] + ("\n… and more" if len(rest) > MOST_CHARACTERS else "") or "Nothing."
