"""Superseded tool results that are left out of what is sent; the buffer keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.dialects.base import Message
from ebbtide_core.lineage.buffer import Buffer, read
from ebbtide_core.views.prune import Superseded, replaced
from ebbtide_core.views.view import Omitted, omission


@dataclass(frozen=True, slots=True)
class Pruned:
    """The results left out of one buffer: by buffer index what is sent instead, and the tokens that saves.

    Tokens are the tokenizer's, ratio not applied. `spans` declares what is left out.
    """

    gone: tuple[Superseded, ...] = ()
    buffer: Buffer | None = None
    sent: Mapping[int, Message] = field(default_factory=dict)
    saved: Mapping[int, int] = field(default_factory=dict)
    spans: tuple[Omitted, ...] = ()

    @property
    def total_saved(self) -> int:
        """Tokens saved in all."""
        return sum(self.saved.values())


NOTHING_PRUNED: Final = Pruned()


def pruned(sizes: Sizes, gone: Sequence[Superseded]) -> Pruned:
    """Return these results left out of a buffer; their indices are that buffer's."""
    if not gone:
        return NOTHING_PRUNED
    buffer, sent = sizes.buffer, replaced(sizes.buffer, gone)
    counts = sizes.each()
    saved = {}
    for index, message in sent.items():
        entry = read([message], buffer.dialect).entries[0]
        saved[index] = max(0, counts[index] - sizes.meter.tokens(entry, message))
    return Pruned(tuple(gone), buffer, sent, saved, omission(buffer, sent))


@dataclass
class Pruning:
    """What a session has left out so far, and on which buffers that was worked out.

    A result once left out stays so, in the same words, until a swap takes it away: the bytes sent don't
    change. `epoch` is the lineage count of the summary behind which the last batch was taken.
    """

    gone: tuple[Superseded, ...] = ()
    epoch: int | None = None
    _known: tuple[Pruned, ...] = field(default=())

    def on(self, sizes: Sizes) -> Pruned:
        """Return what is left out of a buffer: as worked out before, if it has only grown since."""
        if not self.gone:
            return NOTHING_PRUNED
        buffer = sizes.buffer
        found = next((p for p in self._known if p.buffer is not None and buffer.continues(p.buffer)), None)
        now = replace(found, buffer=buffer) if found else pruned(sizes, _moved(self.gone, buffer))
        self._known = (now, *(p for p in self._known if p is not found))[:2]
        return now

    def add(self, sizes: Sizes, more: Sequence[Superseded]) -> Pruned:
        """Leave more results of a buffer out, and return all that are now."""
        now = pruned(sizes, sorted((*self.on(sizes).gone, *more), key=lambda s: s.index))
        self.gone, self.epoch, self._known = now.gone, sizes.buffer.chain.base.count, (now,)
        return now

    def forget(self) -> None:
        """Leave nothing out any more."""
        self.gone, self.epoch, self._known = (), None, ()


def _moved(gone: Sequence[Superseded], buffer: Buffer) -> list[Superseded]:
    """Return the results at their indices in another buffer. Dropped are those that it lacks, and those whose
    newer one it lacks: a host may go back to where nothing superseded them."""
    places = {(e.index, e.digest): i for i, e in enumerate(buffer.entries) if e.results}
    found = ((s, places.get((s.lineage, s.digest))) for s in gone if s.newer in places)
    return [replace(s, index=at) for s, at in found if at is not None]
