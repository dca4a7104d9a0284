"""The pure core put together as a host uses it, for one conversation under fixed limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ebbtide_core import swap
from ebbtide_core.budget.boundary import Cut, boundary
from ebbtide_core.budget.meter import Meter
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.budget.tokens import ByteEstimate
from ebbtide_core.contract.record import SummariserName, SummaryRecord, body_digest
from ebbtide_core.dialects.base import Dialect, Message
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.lineage.buffer import Buffer, Kind, checked, read
from ebbtide_core.policy import Limits
from ebbtide_core.summary.extractive import summarise
from ebbtide_core.summary.message import render
from ebbtide_core.summary.model import Summary
from ebbtide_core.summary.source import source_message
from ebbtide_core.swap import Swap
from ebbtide_core.views.bare import bare
from ebbtide_core.views.clip import clipped
from ebbtide_core.views.ground import Ground
from ebbtide_core.views.local import extractive
from ebbtide_core.views.truncate import truncated
from ebbtide_core.views.view import View
from tests.strategies.messages import Format

Messages = list[dict[str, Any]]
Apply = Callable[[SummaryRecord, Buffer], Swap]


@dataclass(frozen=True)
class World:
    """A dialect, a meter, limits, and what the request holds outside its messages, in tokens."""

    fmt: Format
    limits: Limits
    outside: int
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "meter", Meter(ByteEstimate(), self.dialect))

    @property
    def dialect(self) -> Dialect:
        """The conversation's format."""
        return by_name(self.fmt)

    def read(self, messages: Sequence[Message], previous: Buffer | None = None) -> Buffer:
        """Return the messages as a buffer."""
        return read(messages, self.dialect, *([previous] if previous else []))

    def tokens(self, buffer: Buffer) -> list[int]:
        """Return the size of each message."""
        return Sizes(self.meter, buffer).each()

    def cut(self, buffer: Buffer) -> Cut | None:
        """Return where a compaction cuts."""
        return boundary(buffer, self.tokens(buffer), self.limits, self.outside)

    def ground(self, buffer: Buffer) -> Ground:
        """Return what the degrade ladder starts from."""
        return Ground(buffer, self.tokens(buffer), self.limits, self.outside, self.size)

    def size(self, message: Message) -> int:
        """Return the size of one message by itself."""
        return self.meter.tokens(self.read([message]).entries[0], message)

    def views(self, buffer: Buffer) -> list[View]:
        """Return what each rung of the ladder makes of the buffer, whether it fits or not."""
        ground, cut = self.ground(buffer), self.cut(buffer)
        made = (extractive(ground, cut), truncated(ground), clipped(ground), bare(ground))
        return [view for view in made if view is not None]

    def summary(self, buffer: Buffer, cut: Cut) -> Summary:
        """Return the local summary of what a cut leaves out."""
        kept = frozenset(cut.kept)
        gone = [
            (e, checked(buffer.passed[i], i, self.dialect))
            for i, e in enumerate(buffer.entries[: cut.index])
            if e.kind in (Kind.SPOKEN, Kind.CARRIED) and i not in kept
        ]
        source = [source_message(e.index, m, self.dialect) for e, m in gone]
        base = buffer.summary.summary if buffer.summary else None
        budget = self.limits.summary_max_tokens
        return summarise(source, base=base, budget=budget, count=self.meter.tokenizer.count)

    def record(
        self, buffer: Buffer, cut: Cut, version: int = 1, summary: Summary | None = None
    ) -> SummaryRecord:
        """Return the record that a worker would publish for a cut."""
        summary = summary or self.summary(buffer, cut)
        text = render(summary)
        return SummaryRecord(
            version=version,
            incarnation="life",
            generation=0,
            base_version=buffer.summary.version if buffer.summary else 0,
            base=buffer.chain.base,
            position=cut.position,
            carried=cut.carried,
            released=cut.released,
            summary=summary,
            text=text,
            coverage=(),
            summariser=SummariserName(name="extractive", fingerprint="0"),
            source_tokens=cut.new_tokens,
            summary_tokens=self.meter.tokenizer.count(text),
            created_at=0.0,
            job_id="job",
            body=body_digest(cut.position, cut.carried, text),
        )


@dataclass(frozen=True)
class Life:
    """A conversation as it grows: what is appended stage by stage. `unpins` are stages at which the host
    releases all it had pinned; `summaries` are used in turn instead of the local summariser's (None)."""

    world: World
    stages: Sequence[Messages]
    unpins: frozenset[int] = frozenset()
    summaries: Sequence[Summary | None] = (None,)


@dataclass(frozen=True)
class Generation:
    """One compaction of a life: `raw` is the buffer of a host that never swaps, `before` of one that does."""

    world: World
    raw: Messages
    before: Messages
    buffer: Buffer
    cut: Cut
    record: SummaryRecord
    done: Swap

    @property
    def after(self) -> Messages:
        """The buffer once swapped."""
        return [dict_of(m) for m in self.done.messages]


def dict_of(message: Message) -> dict[str, Any]:
    """Return the message, which is a dict in every law's test."""
    assert isinstance(message, dict)
    return message


def generations(life: Life, apply: Apply = swap.apply) -> Iterator[Generation]:
    """Live the life, compacting whenever something can be cut."""
    raw: Messages = []
    kept: Messages = []
    version = 0
    for number, stage in enumerate(life.stages):
        raw, kept = [*raw, *stage], [*kept, *stage]
        if number in life.unpins:
            kept, raw = _unpinned(kept), _unpinned(raw)
        buffer = life.world.read(kept)
        cut = life.world.cut(buffer)
        if cut is None:
            continue
        version += 1
        summary = life.summaries[version % len(life.summaries)]
        record = life.world.record(buffer, cut, version, summary)
        done = apply(record, buffer)
        yield Generation(life.world, raw, kept, buffer, cut, record, done)
        kept = [dict_of(m) for m in done.messages]


def _unpinned(messages: Messages) -> Messages:
    return [
        {k: v for k, v in m.items() if k != "ebbtide"} if m.get("ebbtide") == {"pinned": True} else m
        for m in messages
    ]
