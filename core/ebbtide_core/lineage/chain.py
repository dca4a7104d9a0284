"""Position and chain: which point of the lineage a buffer or a record stands at.

`d[0] = H(domain, dialect)`, `d[i] = H(d[i-1] + canonical(m[i]))`, blake2b with 16 bytes. Two buffers agree on
a digest at a count only if they agree on every message before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from ebbtide_core.jsonio import DIGEST_BYTES
from ebbtide_core.lineage.grown import Grown

if TYPE_CHECKING:
    from collections.abc import Iterable

CANON_VERSION: Final = 1
_POSITION: Final = re.compile(rf"(0|[1-9][0-9]{{0,17}}):([0-9a-f]{{{2 * DIGEST_BYTES}}})")
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A point in the lineage: `count` messages lie before it, `digest` (16 bytes) is the chain over them."""

    count: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.count}:{self.digest.hex()}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Return the position that `str()` wrote. Raises ValueError when it is none."""
        parts = _POSITION.fullmatch(text)
        if parts is None:
            raise ValueError(f"not a position: {text[:_SHOWN]!r}")
        return cls(int(parts[1]), bytes.fromhex(parts[2]))


class Relation(StrEnum):
    """How a position stands to a chain."""

    ON = "on"
    CONTRADICTS = "contradicts"
    BEFORE = "before"
    AHEAD = "ahead"


def origin(dialect: str) -> Position:
    """Return the position before the first message of a dialect's lineage."""
    domain = f"ebbtide/chain/{CANON_VERSION}/{dialect}".encode()
    return Position(0, blake2b(domain, digest_size=DIGEST_BYTES).digest())


def link(previous: bytes, canonical: bytes) -> bytes:
    """Return the digest after one more message, given in canonical form."""
    h = blake2b(previous, digest_size=DIGEST_BYTES)
    h.update(canonical)
    return h.digest()


@dataclass(frozen=True, slots=True)
class Chain:
    """The digests of a lineage from a base position on; `digests[i]` is the one at `base.count + 1 + i`."""

    base: Position
    digests: Grown[bytes] = field(default_factory=Grown)

    @property
    def tip(self) -> Position:
        """The position after the last message."""
        return self.at(self.base.count + len(self.digests))

    def at(self, count: int) -> Position:
        """Return the position at a count between base and tip. Raises IndexError outside."""
        offset = count - self.base.count
        if offset == 0:
            return self.base
        if not 0 < offset <= len(self.digests):
            raise IndexError(
                f"count {count} is outside {self.base.count}..{self.base.count + len(self.digests)}"
            )
        return Position(count, self.digests[offset - 1])

    def extend(self, canonicals: Iterable[bytes]) -> Chain:
        """Return the chain after more messages, given in canonical form."""
        last = self.tip.digest
        digests: list[bytes] = []
        for canonical in canonicals:
            last = link(last, canonical)
            digests.append(last)
        return Chain(self.base, self.digests.grown(digests))

    def relation(self, position: Position) -> Relation:
        """Say how a position stands to this chain.

        BEFORE: it lies before the base, where this chain can't look. AHEAD: it lies after the tip.
        """
        if position.count < self.base.count:
            return Relation.BEFORE
        if position.count > self.base.count + len(self.digests):
            return Relation.AHEAD
        return Relation.ON if self.at(position.count) == position else Relation.CONTRADICTS
