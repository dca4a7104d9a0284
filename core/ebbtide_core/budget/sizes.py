"""Token counts of a buffer's messages, gone on with while it grows: a turn looks only at what is new."""

from __future__ import annotations

from typing import Final

from ebbtide_core.budget.meter import Meter
from ebbtide_core.lineage.buffer import Buffer
from ebbtide_core.lineage.grown import Grown

TYPICAL_BYTES_PER_TOKEN: Final = 3


class Sizes:
    """Counts of the messages of one buffer, in the tokenizer's tokens, ratio not applied.

    The first messages are counted; of the rest, which the tokenizer has not seen, only bounds are known.
    They stay those of this buffer: turns that overlap don't disturb each other.
    """

    def __init__(self, meter: Meter, buffer: Buffer, known: Sizes | None = None) -> None:
        """Go on from the `known` sizes of what the buffer begins with, else from nothing."""
        self.meter = meter
        self.buffer = buffer
        self._counted: Grown[int] = known._counted if known else Grown()
        self._counted_sum: int = known._counted_sum if known else 0
        self._rest_bound: int = known._rest_bound if known else 0
        self._rest_rough: int = known._rest_rough if known else 0
        self._take(len(known.buffer.entries) if known else 0)

    def follow(self, buffer: Buffer) -> Sizes:
        """Return the sizes of another buffer, gone on with from these if it was read on from this one."""
        return Sizes(self.meter, buffer, self if buffer.continues(self.buffer) else None)

    def anew(self, buffer: Buffer) -> Sizes:
        """Return the sizes of another buffer, gone on with from nothing."""
        return Sizes(self.meter, buffer)

    @property
    def bound(self) -> int:
        """A number of tokens that the messages can't exceed: known counts, else one token a byte."""
        return self._counted_sum + self._rest_bound

    @property
    def rough(self) -> int:
        """A rough count: known ones, else a token for every three bytes."""
        return self._counted_sum + self._rest_rough

    def exact(self) -> int:
        """Return the count of all messages; the tokenizer sees what it has not seen."""
        self._count_rest()
        return self._counted_sum

    def each(self) -> list[int]:
        """Return the count of each message."""
        self._count_rest()
        return list(self._counted)

    def _take(self, start: int) -> None:
        """Take in the messages from an index on."""
        counted: list[int] = []
        for entry in self.buffer.entries[start:]:
            known = self.meter.known(entry)
            if known is not None and not self._rest_bound:
                counted.append(known)
                self._counted_sum += known
            else:
                rough = entry.size // TYPICAL_BYTES_PER_TOKEN + entry.fixed
                self._rest_bound += entry.bound if known is None else known
                self._rest_rough += rough if known is None else known
        self._counted = self._counted.grown(counted)

    def _count_rest(self) -> None:
        at = len(self._counted)
        if at == len(self.buffer.entries):
            return
        rest = list(map(self.meter.tokens, self.buffer.entries[at:], self.buffer.passed[at:]))
        self._counted = self._counted.grown(rest)
        self._counted_sum += sum(rest)
        self._rest_bound = self._rest_rough = 0
