"""What a summary is made from: messages of the lineage, as blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ebbtide_core.dialects.base import Block, BlockKind, Dialect, PlainMessage
from ebbtide_core.jsonio import well_formed
from ebbtide_core.summary.model import LIST_FIELDS, Summary

MAX_VALUES: Final = 2_000
"""Strings read of one call's arguments, and twice as many values looked at on the way."""


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """One message of the lineage: its index there, its role in the provider's words, its parts in order."""

    index: int
    role: str
    blocks: Sequence[Block]

    def of_kind(self, kind: BlockKind) -> list[Block]:
        """Return the parts of one kind."""
        return [block for block in self.blocks if block.kind is kind]


def source_message(index: int, message: PlainMessage, dialect: Dialect) -> SourceMessage:
    """Return a message of the lineage as its dialect reads it."""
    return SourceMessage(index, dialect.role(message), tuple(dialect.blocks(message)))


def strings(arguments: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """Yield each string of a call's arguments with its key, in order, lone surrogates replaced.

    A string in a list has the key of the list. At most `MAX_VALUES` strings are read, which bounds the work.
    """
    stack: list[tuple[str, Any]] = [("", arguments)]
    looked = found = 0
    while stack and found < MAX_VALUES and looked < 2 * MAX_VALUES:
        name, value = stack.pop()
        looked += 1
        if isinstance(value, str):
            found += 1
            yield name, well_formed(value)
        elif isinstance(value, Mapping):
            stack += [(str(k), v) for k, v in reversed(list(value.items())[:MAX_VALUES])]
        elif isinstance(value, list | tuple):
            stack += [(name, item) for item in reversed(value[:MAX_VALUES])]


def contains(source: Sequence[SourceMessage], base: Summary | None = None) -> Callable[[str], bool]:
    """Return the test whether a text occurs verbatim in what a summary was made from.

    Looked at are texts, results, calls (as JSON and as decoded strings), and the base summary's items; the
    latest messages first, since most of what a summary names was named there. Answers are remembered.
    """
    texts = [text for message in reversed(source) for block in message.blocks for text in _texts(block)]
    if base is not None:
        texts += [base.session_intent, base.active_request]
        texts += [item for name in LIST_FIELDS for item in getattr(base, name)]
    return cache(lambda wanted: bool(wanted) and any(wanted in text for text in texts))


def _texts(block: Block) -> Iterator[str]:
    yield well_formed(block.text)
    for _, value in strings(block.arguments):
        yield value
