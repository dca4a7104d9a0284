"""Errors in results."""

from __future__ import annotations

import pytest

from ebbtide_core.summary.failures import failures

FAILURES = [
    "ValueError: invalid literal for int()",
    "requests.exceptions.ConnectionError: refused",
    "src/a.ts(8,24): error TS2307: Cannot find module 'x'",
    "error[E0308]: mismatched types",
    "FAILED tests/test_x.py::test_y - assert 4 == 5",
    "--- FAIL: TestLogin (0.00s)",
    "fatal: not a git repository",
    "npm ERR! exit code: 1",
    "Process exited with code 137",
    "sh: vitest: command not found",
    "ls: x: No such file or directory",
    "2 failed, 8 passed in 2.78s",
    "Ошибка: файл не найден",
    "错误：找不到文件",
    "エラーが発生しました",
]
NO_FAILURES = [
    "0 errors, 0 warnings",
    "Tests passed without failures",
    '{"error": null, "ok": true}',
    "  12\traise ValueError('x')",
    "186-    except Exception:",
    "raise ValueError('bad')",
    "logger.error('failed: %s', e)",
    "Error handling patterns vary across packages",
    "exit code 0",
    "all good",
]


@pytest.mark.parametrize("line", FAILURES)
def test_failing_lines_are_found(line: str) -> None:
    """Lines that report a failure are found between others, verbatim."""
    assert failures(f"starting\n  {line}\ndone", is_error=False) == [line]


@pytest.mark.parametrize("line", NO_FAILURES)
def test_lines_that_only_mention_errors_are_not(line: str) -> None:
    """Counts of none, code and listings are no failures."""
    assert failures(f"starting\n{line}\ndone", is_error=False) == []


def test_result_marked_as_error_says_at_least_its_last_line() -> None:
    """An error without any known word still leaves its last line."""
    assert failures("running\nit went wrong\n\n", is_error=True) == ["it went wrong"]
    assert failures("", is_error=True) == []


def test_the_last_failures_of_a_result_are_kept() -> None:
    """Of many failures the last three stay, each once: that is where the verdict stands."""
    lines = [f"FAILED test_{i}" for i in range(50)] + ["FAILED test_49"]
    assert failures("\n".join(lines), is_error=True) == ["FAILED test_47", "FAILED test_48", "FAILED test_49"]


def test_the_end_of_a_long_line_is_kept() -> None:
    """Of a line longer than an item its end stays."""
    (line,) = failures("Error: " + "x" * 5000 + " exit code 3", is_error=True)
    assert len(line) == 500
    assert line.endswith("exit code 3")
