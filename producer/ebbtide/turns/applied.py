"""The last swap of a session, so that a host that passes its raw history again has it again at once."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from ebbtide.turn import Swapped
from ebbtide_core import swap as swapping
from ebbtide_core.budget.sizes import Sizes
from ebbtide_core.contract.record import RecordHeader, SummaryRecord
from ebbtide_core.dialects.base import Message
from ebbtide_core.jsonio import equal
from ebbtide_core.lineage.buffer import Buffer, Kind, read


@dataclass(frozen=True, slots=True)
class Applied:
    """A swap: the buffer `before` it and the `sizes` of the one after it.

    What stands before index `cut` of the one became what stands before index `head` of the other; `removed`
    are the indices, before the swap, of what the summary message replaces. `summary` is the summary message
    and `covered` are the messages up to the last that it stands for, both in copies: the one whole, the
    others of the outermost object only. `added` are the messages that the host wanted kept as well.
    """

    swapped: Swapped
    before: Buffer
    sizes: Sizes
    summary: Message
    covered: tuple[Message, ...]
    added: tuple[Message, ...]
    removed: frozenset[int]
    cut: int
    head: int

    def of(self, record: SummaryRecord | RecordHeader) -> bool:
        """Say whether it was this record that was put in."""
        known = self.swapped.record
        return (known.version, known.body) == (record.version, record.body)

    def is_within(self, buffer: Buffer) -> bool:
        """Say whether the record applies to a buffer in which more was said behind its position."""
        position, chain = self.swapped.position, buffer.chain
        return chain.base.count < position.count < chain.tip.count and swapping.applies(position, buffer)

    def again(self, buffer: Buffer) -> Applied | None:
        """Return the same swap on a buffer whose head is still the one before it; None: it must be made anew.

        While nothing was said behind the record's position, a message added may still move in front of it. A
        change in place deep inside a message is not noticed.
        """
        if not self._has_same_head(buffer):
            return None
        known, summary = self.sizes.buffer, deepcopy(self.summary)
        at = next(i for i, entry in enumerate(known.entries) if entry.kind is Kind.SUMMARY)
        head = (*known.passed[:at], summary, *known.passed[at + 1 : self.head])
        sizes = self.sizes.follow(read((*head, *buffer.passed[self.cut :]), buffer.dialect, known))
        swapped = replace(self.swapped, summary_message=summary, again=True)
        return replace(self, swapped=swapped, before=buffer, sizes=sizes)

    def _has_same_head(self, buffer: Buffer) -> bool:
        cut, old, new = self.cut, self.before.entries, buffer.entries
        if cut >= min(len(old), len(new)) or new[cut - 1] is not old[cut - 1]:
            return False
        first = new[cut]
        behind = first.kind is Kind.SPOKEN and first.count > self.swapped.position.count
        return behind and equal(buffer.passed[: len(self.covered)], self.covered)


def put_in(record: SummaryRecord, buffer: Buffer, sizes: Sizes, added: tuple[Message, ...] = ()) -> Applied:
    """Return the swap of a record into a buffer just read. `sizes` are of the buffer; `added` are ephemeral
    messages that the host wants kept right before the tail. Raises NotApplicable.
    """
    done = swapping.apply(record, buffer)
    cut = swapping.tail_start(buffer, record.position.count)
    head = len(done.messages) - (len(buffer.entries) - cut)
    messages = (*done.messages[:head], *added, *done.messages[head:])
    swapped = Swapped(
        done.version, done.position, done.summary_message, done.carried, len(done.removed), record
    )
    return Applied(
        swapped=swapped,
        before=buffer,
        sizes=Sizes(sizes.meter, read(messages, buffer.dialect)),
        summary=deepcopy(done.summary_message),
        removed=frozenset(done.removed),
        added=added,
        covered=tuple(map(_outer_copy, buffer.passed[: max(done.removed, default=-1) + 1])),
        cut=cut,
        head=head + len(added),
    )


def _outer_copy(message: Any) -> Any:
    """Return a shallow copy of a dict; another object as it is."""
    return dict(message) if isinstance(message, dict) else message
