"""Files touched: from arguments, patches and shell commands."""

from __future__ import annotations

import pytest

from ebbtide_core.summary.files import distinct, touched

PATCH = """*** Begin Patch
*** Update File: src/app.py
@@
-x
+y
*** Add File: src/new.py
*** Move to: src/moved.py
*** Delete File: old.txt
*** End Patch"""
DIFF = """diff --git a/src/a.c b/src/a.c
--- a/src/a.c\t2024-01-01
+++ b/src/a.c
@@ -1 +1 @@
--- /dev/null
+++ b/b.h"""


@pytest.mark.parametrize("name", ["file_path", "filename", "file", "target_file", "notebook_path", "path"])
def test_paths_are_read_from_well_known_keys(name: str) -> None:
    """The arguments in which tools name files are known."""
    assert touched({name: "/home/u/My Project/src/app.py", "content": "see b.py"}) == [
        "/home/u/My Project/src/app.py"
    ]


def test_nested_arguments_are_read() -> None:
    """Lists of files and of edits are looked into."""
    assert touched(
        {"edits": [{"file_path": "a.py"}, {"file_path": "b.py"}], "files": ["c.py", "Makefile"]}
    ) == [
        "a.py",
        "b.py",
        "c.py",
        "Makefile",
    ]


@pytest.mark.parametrize(
    "path", ["src", "/repo/src/", "**/*.py", "https://x.org/a.py", "a.py\nb.py", "", " "]
)
def test_other_values_of_path_are_no_files(path: str) -> None:
    """Folders, patterns, addresses and several lines are not one file."""
    assert touched({"path": path}) == []


@pytest.mark.parametrize(
    ("patch", "files"),
    [
        (PATCH, ["src/app.py", "src/new.py", "src/moved.py", "old.txt"]),
        (f"git apply <<EOF\n{DIFF}\nEOF", ["src/a.c", "b.h"]),
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", ["src/app.py", "src/new.py", "src/moved.py", "old.txt"]),
    ],
)
def test_patches_name_their_files(patch: str, files: list[str]) -> None:
    """Both patch forms are read, as an argument or inside a command."""
    assert touched({"command": patch}) == files
    assert touched({"input": patch})[: len(files)] == files


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat src/a.py | grep -n foo", ["src/a.py"]),
        ("cd /repo && python -m pytest tests/test_x.py::test_y -q", []),
        ("sed -i 's/a/b/' ./conf/app.yaml > out.log 2>&1", ["./conf/app.yaml", "out.log"]),
        ("mv 'old name.txt' new.txt", ["new.txt"]),
        ("ls *.py; rm -rf build/", []),
        (
            "cat <<'EOF' > gen.py\nimport other.py\nopen('x.json')\nEOF\ntouch done.txt",
            ["gen.py", "done.txt"],
        ),
        ("curl https://x.org/a.json -o a.json", ["a.json"]),
        ("vim main.rs:12", ["main.rs"]),
        ("docker build -f Dockerfile .", ["Dockerfile"]),
        ("git add .env .gitignore", [".env", ".gitignore"]),
        ("type C:\\Users\\me\\notes.txt", ["C:\\Users\\me\\notes.txt"]),
    ],
)
def test_commands_name_their_files(command: str, files: list[str]) -> None:
    """Arguments that look like files are taken; options, patterns, addresses and here-documents are not."""
    assert touched({"command": command}) == files
    assert touched({"cmd": ["bash", "-lc", command]}) == files


@pytest.mark.parametrize("arguments", [None, {}, {"path": None}, {"file": 3}, {"files": [None, {"x": []}]}])
def test_arguments_of_any_shape_are_read(arguments: dict[str, object] | None) -> None:
    """Missing and odd arguments name nothing and raise nothing."""
    assert touched(arguments) == []


def test_one_file_under_two_names_is_one() -> None:
    """A path that is the end of a longer one is the same file; order is that of the last use."""
    paths = ["src/a.py", "/repo/src/a.py", "b.py", "./src/a.py", "src/c.py", "/repo/src/a.py"]
    assert distinct(paths) == ["b.py", "src/c.py", "/repo/src/a.py"]
