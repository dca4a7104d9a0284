"""One line of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """ok: fine. warn: works, but worse than it could. fail: does not work."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, what was found, and what to do about it ("" when nothing is)."""

    check: str
    grade: Grade
    found: str
    do: str = ""


def ok(check: str, found: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(check, Grade.OK, found)


def warn(check: str, found: str, do: str) -> Finding:
    """Return a finding that something is worse than it could be."""
    return Finding(check, Grade.WARN, found, do)


def fail(check: str, found: str, do: str) -> Finding:
    """Return a finding that something does not work."""
    return Finding(check, Grade.FAIL, found, do)
