"""Which thinking was signed for a prefix that is no longer sent, for models that bind the two."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from ebbtide_core.budget.meter import Meter
from ebbtide_core.dialects.base import BlockKind, Message
from ebbtide_core.dialects.thinking import has_thinking, without_thinking
from ebbtide_core.lineage.buffer import Buffer, checked, read


@dataclass(frozen=True, slots=True)
class Loosened:
    """What is sent of messages whose thinking no longer fits their prefix, by buffer index (None: nothing is
    left of one), how many thinking blocks that leaves out, and the tokenizer's tokens that it saves."""

    buffer: Buffer
    upto: int
    sent: dict[int, Message | None]
    saved: dict[int, int]
    blocks: int


@dataclass
class Rewrites:
    """Follows how what is sent was rewritten: by a summary, by pruning, by a degraded view, or by the host,
    which took an ephemeral message out or changed what it had said.

    Thinking is signed for the prefix that the model saw. Whenever that is rewritten, all messages there are
    at that moment lose their thinking blocks, whole; later ones keep theirs. A host that meets a rewritten
    buffer first can't know what was signed after it, and drops all that is there.
    """

    _shape: Hashable = None
    _upto: int = -1
    _last: Buffer | None = field(default=None)
    _known: Loosened | None = field(default=None)

    def loosened(self, buffer: Buffer, shape: Hashable, meter: Meter) -> Loosened | None:
        """Return what must be sent otherwise; `shape` names the way the buffer is rewritten, None: not at
        all."""
        if shape != self._shape or self._changed(buffer):
            self._shape, self._upto = shape, buffer.chain.tip.count
        self._last = buffer
        if self._upto < 0:
            return None
        known = self._known
        if known is None or known.upto != self._upto or not buffer.continues(known.buffer):
            self._known = known = _loosened(buffer, self._upto, meter)
        return known

    def _changed(self, buffer: Buffer) -> bool:
        """Say whether thinking stands behind a message that is no longer the one sent last."""
        if self._last is None or buffer.continues(self._last):
            return False
        pairs = enumerate(zip(self._last.entries, buffer.entries, strict=False))
        first = next((i for i, (old, new) in pairs if old.digest != new.digest), len(buffer.entries))
        behind = range(first, len(buffer.entries))
        return any(has_thinking(checked(buffer.passed[i], i, buffer.dialect)) for i in behind)


def _loosened(buffer: Buffer, upto: int, meter: Meter) -> Loosened:
    sent: dict[int, Message | None] = {}
    saved: dict[int, int] = {}
    blocks = 0
    for index, entry in enumerate(buffer.entries):
        if entry.count > upto:
            break
        message = checked(buffer.sent(index), index, buffer.dialect)
        if has_thinking(message):
            blocks += sum(block.kind is BlockKind.THINKING for block in buffer.dialect.blocks(message))
            sent[index] = less = without_thinking(message)
            saved[index] = meter.tokens(entry, message)
            if less is not None:
                saved[index] -= meter.tokens(read([less], buffer.dialect).entries[0], less)
    return Loosened(buffer, upto, sent, saved, blocks)
