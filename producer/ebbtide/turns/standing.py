"""Where a buffer stands this turn: its size, where it would be cut, what a compaction of it would bring."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ebbtide.turns.pruned import NOTHING_PRUNED, Pruned
from ebbtide_core.budget.boundary import Cut, behind, boundary, newly_summarised
from ebbtide_core.budget.measure import Parts, Projection, project, scaled, tokens_of
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.contract.manifest import Figures, least_new
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.buffer import Buffer, Kind, read
from ebbtide_core.lineage.chain import Position
from ebbtide_core.policy import Limits
from ebbtide_core.store.results import SessionView
from ebbtide_core.swap import usable
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.view import View


@dataclass(frozen=True)
class Standing:
    """A buffer measured against the limits of one turn; `ratio` is the model's tokens per counted token.

    Sizes are those of what is sent: without the results that are left out of it (`pruned`). `by_hand`: a
    compaction is asked for whatever the size.
    """

    buffer: Buffer
    parts: Parts
    limits: Limits
    sizes: Sizes
    ratio: float
    pruned: Pruned = NOTHING_PRUNED
    by_hand: bool = False

    @cached_property
    def projection(self) -> Projection:
        """The projected size of the request that sends this buffer."""
        return project(self.sizes, self.parts, self.ratio, self.limits.soft)

    @property
    def total(self) -> int:
        """The projected size in the model's tokens."""
        return self.projection.total - scaled(self.pruned.total_saved, self.ratio)

    @cached_property
    def tokens(self) -> list[int]:
        """The model's tokens of each message as it is sent."""
        counts = self.sizes.each()
        for index, saved in self.pruned.saved.items():
            counts[index] -= saved
        return tokens_of(counts, self.ratio)

    @cached_property
    def shown(self) -> Buffer:
        """The buffer with the messages that are sent in place of its own: the ground of every view."""
        if not self.pruned.sent:
            return self.buffer
        passed = list(self.buffer.passed)
        for index, message in self.pruned.sent.items():
            passed[index] = message
        return replace(self.buffer, passed=tuple(passed))

    @cached_property
    def cut(self) -> Cut | None:
        """Where a compaction would cut now; None when nothing before the tail is new, and below soft unless
        asked for by hand."""
        if self.total < self.limits.soft and not self.by_hand:
            return None
        return boundary(self.buffer, self.tokens, self.limits, self.projection.outside)

    def after(self, position: Position, summary_tokens: int | None = None) -> int:
        """Return an upper estimate of the request with a record at that position swapped in; a summary of
        unknown size is as large as it may be."""
        kept = sum(self.tokens[i] for i in behind(self.buffer, position))
        summary = self.limits.summary_max_tokens if summary_tokens is None else summary_tokens
        return self.projection.outside + kept + summary

    def waiting_version(self, state: SessionView | None) -> int:
        """The version of a record that lies ahead on the chain, 0 without one."""
        return next((h.version for h in usable(state.headers, self.buffer)), 0) if state else 0

    def new_tokens(self, state: SessionView | None) -> int:
        """Tokens that a compaction would summarise beyond the farthest record that lies on the chain."""
        if self.cut is None or state is None:
            return 0
        on_chain = usable(state.headers, self.buffer)
        since = on_chain[0].position.count if on_chain else self.buffer.chain.base.count
        return sum(self.tokens[i] for i in newly_summarised(self.buffer, self.cut, since))

    @property
    def least_new(self) -> int:
        """Tokens that a compaction must summarise to be worth a job, `min_new_tokens` or not if by hand."""
        least = 1 if self.by_hand else self.limits.min_new_tokens
        return least_new(self.total, least, self.limits.summary_max_tokens)

    def figures(self, cut: Cut) -> Figures:
        """What a worker needs to judge progress without counting."""
        sized = zip(self.buffer.entries, self.tokens, strict=True)
        summary = sum(size for e, size in sized if e.kind is Kind.SUMMARY)
        return Figures(
            window=self.limits.window,
            soft=self.limits.soft,
            hard=self.limits.hard,
            projected=self.total,
            outside=self.projection.outside,
            tail=max(0, sum(self.tokens) - cut.new_tokens - summary),
            ratio=self.ratio,
            summary_max_tokens=self.limits.summary_max_tokens,
        )

    def ground(self) -> Ground:
        """What the degrade ladder starts from."""
        return Ground(self.shown, self.tokens, self.limits, self.projection.outside, self._count)

    def counted(self, view: View | None) -> int:
        """The tokenizer's count of what is sent, 0 when it was not counted exactly."""
        if not self.projection.exact:
            return 0
        if view is None:
            return self.projection.counted - self.pruned.total_saved
        return int(view.tokens / self.ratio) + self.parts.system_tokens + self.parts.tools_tokens

    def _count(self, message: Message) -> int:
        entry = read([message], self.buffer.dialect).entries[0]
        return scaled(self.sizes.meter.tokens(entry, message), self.ratio)
