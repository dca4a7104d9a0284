"""Tables of words: written as text, read once."""

from __future__ import annotations


def words(table: str) -> frozenset[str]:
    """Return the words of a table, which white space separates."""
    return frozenset(table.split())


def phrases(table: str) -> tuple[str, ...]:
    """Return the phrases of a table, which semicolons separate."""
    return tuple(phrase for part in table.split(";") if (phrase := " ".join(part.split())))
