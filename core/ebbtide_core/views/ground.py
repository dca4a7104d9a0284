"""What every rung of the degrade ladder starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ebbtide_core.budget.boundary import must_stay, newest_real
from ebbtide_core.lineage.buffer import Buffer, Entry, Kind
from ebbtide_core.lineage.exchanges import Exchange, exchanges
from ebbtide_core.policy import Limits
from ebbtide_core.views.view import Count


@dataclass(frozen=True)
class Ground:
    """A buffer with the size of each message in the model's tokens, and the room that a view has.

    `outside`: system, tools, output and pending results. `count` measures messages made for a view.
    """

    buffer: Buffer
    tokens: Sequence[int]
    limits: Limits
    outside: int
    count: Count

    @property
    def entries(self) -> Sequence[Entry]:
        """The buffer's entries."""
        return self.buffer.entries

    @property
    def room(self) -> int:
        """Tokens that messages may take below hard."""
        return self.limits.hard - self.outside

    @cached_property
    def runs(self) -> list[Exchange]:
        """The buffer's exchanges."""
        return exchanges(self.entries)

    @cached_property
    def newest(self) -> int:
        """The exchange that no view leaves out: that of the newest real message, or the last one."""
        at = newest_real(self.entries)
        if at is None:
            return len(self.runs) - 1
        return next(k for k, run in enumerate(self.runs) if run.start <= at < run.stop)

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Buffer indices that every view keeps: all that is no exchange, or is carried, pinned or
        ephemeral."""
        inside = {i for run in self.runs for i in range(run.start, run.stop)}
        outside = set(range(len(self.entries))) - inside
        bound = {i for run in self.runs if self._bound(run) for i in range(run.start, run.stop)}
        loose = {i for i, e in enumerate(self.entries) if e.kind in (Kind.SYSTEM, Kind.EPHEMERAL)}
        return frozenset(outside | bound | loose)

    def _bound(self, run: Exchange) -> bool:
        span = [self.entries[i] for i in range(run.start, run.stop)]
        return must_stay(span) or any(e.kind is Kind.CARRIED for e in span)

    def size(self, run: Exchange) -> int:
        """The tokens of an exchange beyond what is kept of it anyway."""
        return sum(self.tokens[i] for i in range(run.start, run.stop) if i not in self.fixed)
