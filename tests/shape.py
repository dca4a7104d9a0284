"""Checks that files and functions stay short: run as a script it prints each that is too long and exits 1."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SUFFIXES: Final = frozenset({".py", ".lua"})
MAX_FILE: Final = 400
MAX_TEST_FILE: Final = 500
MAX_FUNCTION: Final = 60


def sources(root: Path) -> Iterator[Path]:
    """Yield the source files below a folder in order, without `dist` and names that begin with a dot."""
    for path in sorted(root.iterdir()):
        if path.name.startswith(".") or path.name == "dist":
            continue
        if path.is_dir():
            yield from sources(path)
        elif path.suffix in SUFFIXES:
            yield path


def too_long(path: Path, root: Path) -> Iterator[str]:
    """Yield one sentence for the file if it has too many lines, and one for each function that has."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(root)
    lines = len(text.splitlines())
    limit = MAX_TEST_FILE if name.parts[0] == "tests" else MAX_FILE
    if lines > limit:
        yield f"{name}: {lines} lines, at most {limit}"
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text, filename=str(name))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _long_function(node, name)


def _long_function(node: ast.FunctionDef | ast.AsyncFunctionDef, name: Path) -> Iterator[str]:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if lines > MAX_FUNCTION:
        yield f"{name}:{node.lineno}: {node.name} has {lines} lines, at most {MAX_FUNCTION}"


def main(root: Path = ROOT) -> int:
    """Print every offender below the folder; return 1 when there is one, else 0."""
    found = [line for path in sources(root) for line in too_long(path, root)]
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
