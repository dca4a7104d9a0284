"""The program that runs the reference's tests: what it needs, and what it counts as shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.run import NEEDED, ROOT, SKIPPED, TESTS, Failed, find_python, wrong

PROGRAM = ROOT / "tests" / "conformance" / "run.py"


def test_without_python_3_12_it_says_so_and_succeeds(tmp_path: Path) -> None:
    """The line says how to give one."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env={"PATH": str(tmp_path), "PYTHON312": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, SKIPPED, "")
    assert "PYTHON312=" in SKIPPED


def test_a_python_3_12_is_found_on_the_path(tmp_path: Path) -> None:
    """One that does not answer 3.12 there is passed over."""
    python = tmp_path / "python3.12"
    for version, found in (("3.12", str(python)), ("3.11", None)):
        python.write_text(f"#!/bin/sh\necho {version}\n")
        python.chmod(0o755)
        assert find_python({"PATH": str(tmp_path)}) == found


@pytest.mark.parametrize("given", ["no/such/python3.12", pytest.param("/bin/true", id="no-python")])
def test_a_given_one_that_is_not_3_12_is_an_error(given: str) -> None:
    """Who names an interpreter wants it used."""
    with pytest.raises(Failed, match=given):
        find_python({"PYTHON312": given})


@pytest.mark.parametrize("which", NEEDED)
def test_only_all_tests_over_our_own_code_count(which: str) -> None:
    """A test fewer, or a part of ours that was never called, shows nothing."""
    counts = {"passed": TESTS, **dict.fromkeys(NEEDED[which], 1)}
    assert wrong(which, counts) == ""
    assert "63 of 64" in wrong(which, {**counts, "passed": 63})
    assert "0 of 64" in wrong(which, {})
    for name in NEEDED[which]:
        assert name in wrong(which, {**counts, name: 0})
