"""The examples' tools: what they find, and that they stay in their folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from examples.workspace import MOST_BYTES, MOST_CHARACTERS, MOST_LINES, TOOLS, Workspace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a secret beside it, and a link to that."""
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "a.txt").write_text("one\nTwo\nthree\n")
    (inside / "sub" / "b.txt").write_text("two again\n")
    (inside / ".hidden").write_text("two hidden\n")
    (tmp_path / "secret.txt").write_text("two secrets\n")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    return inside


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("list_files", {"path": "."}, ".hidden\na.txt\nlink.txt\nsub/"),
        ("read_file", {"path": "a.txt"}, "one\nTwo\nthree\n"),
        ("read_file", {"path": "sub/../a.txt", "first_line": 3}, "three\n"),
        ("read_file", {"path": "a.txt", "first_line": 9}, "Nothing."),
        ("search", {"path": ".", "text": "two"}, "a.txt:2: Two\nsub/b.txt:1: two again"),
        ("search", {"path": "sub/b.txt", "text": "AGAIN"}, "sub/b.txt:1: two again"),
        ("search", {"path": ".", "text": "four"}, "Nothing."),
    ],
)
def test_a_tool_finds_what_is_there(folder: Path, tool: str, arguments: dict[str, Any], found: str) -> None:
    """Hidden files and links that lead out are not searched."""
    assert Workspace(folder).run(tool, arguments) == found


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "link.txt", "sub/../../secret.txt"])
@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_outside_the_folder_is_shown(folder: Path, tool: str, path: str) -> None:
    """Neither by dots, nor by an absolute path, nor through a link."""
    told = Workspace(folder).run(tool, {"path": path, "text": "two"})
    assert told.startswith("Error: ")
    assert "outside the folder" in told
    assert "secrets" not in told


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete", {"path": "a.txt"}),
        ("read_file", {"path": "none.txt"}),
        ("read_file", {"path": "sub"}),
        ("read_file", {"path": 7}),
        ("read_file", {"path": "a.txt", "first_line": "x"}),
        ("read_file", {}),
        ("read_file", ["a.txt"]),
        ("read_file", None),
        ("list_files", {"path": "a.txt"}),
        ("search", {"path": "."}),
        ("search", {"path": ".", "text": 3}),
    ],
)
def test_what_the_model_does_wrong_is_told_to_it(folder: Path, tool: str, arguments: Any) -> None:
    """A model may ask for anything; the loop goes on."""
    assert Workspace(folder).run(tool, arguments).startswith("Error: ")


def test_results_have_a_bound(folder: Path) -> None:
    """In characters, in lines, and in what is searched."""
    (folder / "long.txt").write_text("x" * 2 * MOST_CHARACTERS)
    (folder / "many.txt").write_text("needle\n" * 2 * MOST_LINES)
    (folder / "huge.txt").write_text("haystack\n" * MOST_BYTES)
    workspace = Workspace(folder)
    assert len(workspace.run("read_file", {"path": "long.txt"})) == MOST_CHARACTERS + len("\n… and more")
    assert workspace.run("search", {"path": ".", "text": "needle"}).count("\n") == MOST_LINES
    assert workspace.run("search", {"path": ".", "text": "haystack"}) == "Nothing."
