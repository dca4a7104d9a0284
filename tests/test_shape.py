"""The length check itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shape import MAX_FILE, MAX_FUNCTION, MAX_TEST_FILE, main


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def function(lines: int, head: str = "def f() -> None:") -> str:
    return f"{head}\n" + "    pass\n" * (lines - 1)


def test_files_and_functions_at_the_limit_pass(tmp_path: Path) -> None:
    """A file and a function of exactly the allowed length are fine."""
    write(tmp_path, "core/a.py", "x = 1\n" * MAX_FILE)
    write(tmp_path, "core/b.py", function(MAX_FUNCTION))
    write(tmp_path, "tests/c.py", "x = 1\n" * MAX_TEST_FILE)
    assert main(tmp_path) == 0


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("core/a.py", "x = 1\n" * (MAX_FILE + 1), "core/a.py: 401 lines"),
        ("core/lua/a.lua", "local x\n" * (MAX_FILE + 1), "core/lua/a.lua: 401 lines"),
        ("tests/deep/a.py", "x = 1\n" * (MAX_TEST_FILE + 1), "tests/deep/a.py: 501 lines"),
        ("core/a.py", function(MAX_FUNCTION + 1), "core/a.py:1: f has 61 lines"),
        ("core/a.py", function(MAX_FUNCTION + 1, "async def g() -> None:"), "core/a.py:1: g has 61 lines"),
    ],
)
def test_one_line_more_is_named_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, said: str
) -> None:
    """One line over the limit is printed with its place, and the check fails."""
    write(tmp_path, name, text)
    assert main(tmp_path) == 1
    assert said in capsys.readouterr().out


def test_hidden_folders_are_left_out(tmp_path: Path) -> None:
    """An environment or a cache inside the checkout is not the project's code."""
    write(tmp_path, ".venv/lib/a.py", "x = 1\n" * 1000)
    assert main(tmp_path) == 0
