"""The table is whole, and the documentation shows it as it is."""

from __future__ import annotations

from pathlib import Path

from tests.standin import Kind
from tests.worker.faults.table import TABLE, Where, markdown

OPERATIONS = Path(__file__).resolve().parents[3] / "docs" / "operations.md"


def test_no_behaviour_of_the_stand_in_is_unrehearsed() -> None:
    """Each kind has a row for a chunk's call and one for the merge's."""
    for where in (Where.CHUNK, Where.MERGE):
        assert {row.fault.kind for row in TABLE if row.where is where} == set(Kind)


def test_no_fault_is_there_twice() -> None:
    """A name and a place are one row."""
    found = [(row.name, row.where) for row in TABLE]
    assert len(found) == len(set(found))


def test_the_documentation_shows_the_table() -> None:
    """`python -m tests.worker.faults` prints what has to stand in docs/operations.md."""
    assert markdown() in OPERATIONS.read_text(encoding="utf-8")
