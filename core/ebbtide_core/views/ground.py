"""What every rung of the degrade ladder starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ebbtide_core.budget.boundary import latest_base, must_stay, newest_exchange
from ebbtide_core.lineage.buffer import Buffer, Entry, Kind
from ebbtide_core.lineage.exchanges import Exchange, exchanges
from ebbtide_core.policy import Limits
from ebbtide_core.views.view import Count


@dataclass(frozen=True)
class Ground:
    """A buffer with the size of each message in the model's tokens, and the room that a view has.

    `outside`: system, tools, output and pending results. `count` measures messages made for a view. `bare`:
    the summary and what it carries may be left out as well, but for what is pinned.
    """

    buffer: Buffer
    tokens: Sequence[int]
    limits: Limits
    outside: int
    count: Count
    bare: bool = False

    @property
    def entries(self) -> Sequence[Entry]:
        """The buffer's entries."""
        return self.buffer.entries

    @property
    def room(self) -> int:
        """Tokens that messages may take below hard."""
        return self.limits.hard - self.outside

    @property
    def aim(self) -> int:
        """Tokens that messages take below soft: a view of this size can grow for some turns as it is."""
        return min(self.limits.soft, self.limits.hard) - self.outside

    @cached_property
    def runs(self) -> list[Exchange]:
        """The buffer's exchanges."""
        return exchanges(self.entries)

    @cached_property
    def newest(self) -> int:
        """The exchange that no view leaves out: that of the newest real message, or the last one."""
        at = newest_exchange(self.entries, self.runs)
        return len(self.runs) - 1 if at is None else at

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Buffer indices that every view keeps: all that is no exchange, or is carried, pinned or ephemeral,
        and the provider's latest compaction, which stands for what came before it."""
        inside = {i for run in self.runs for i in range(run.start, run.stop)}
        outside = {i for i in range(len(self.entries)) if i not in inside and not self._spared(i)}
        base = latest_base(self.entries)
        bound = {i for run in self.runs if self._bound(run, base) for i in range(run.start, run.stop)}
        loose = {i for i, e in enumerate(self.entries) if e.kind in (Kind.SYSTEM, Kind.EPHEMERAL)}
        return frozenset(outside | bound | loose)

    def _bound(self, run: Exchange, base: int | None) -> bool:
        span = [self.entries[i] for i in range(run.start, run.stop)]
        holds = base is not None and run.start <= base < run.stop
        carried = any(e.kind is Kind.CARRIED for e in span)
        return must_stay(span) or (not self.bare and (holds or carried))

    def _spared(self, index: int) -> bool:
        return self.bare and self.entries[index].kind is Kind.SUMMARY

    def size(self, run: Exchange) -> int:
        """The tokens of an exchange beyond what is kept of it anyway."""
        return sum(self.tokens[i] for i in range(run.start, run.stop) if i not in self.fixed)
