"""Where to cut: what a compaction keeps as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide_core.contract.record import Carried
from ebbtide_core.dialects.base import Base
from ebbtide_core.lineage.buffer import Buffer, Entry, Kind, position_after
from ebbtide_core.lineage.chain import Position
from ebbtide_core.lineage.exchanges import Exchange, bound_to_ephemeral, exchanges
from ebbtide_core.policy import Limits
from ebbtide_core.summary.model import MAX_REQUEST_CHARS

_LINEAGE = (Kind.SPOKEN, Kind.CARRIED)


@dataclass(frozen=True, slots=True)
class Cut:
    """A compaction of a buffer: messages before buffer index `index` are summarised or carried, the rest is
    kept.

    `kept` are buffer indices before the cut that stay: carried and ephemeral ones. `released` are messages
    that the present summary carries and the next one doesn't. Tokens are the model's: `new_tokens` of what is
    newly summarised, `tail_tokens` of all that stays but the summary and system messages before the cut.
    """

    index: int
    position: Position
    kept: tuple[int, ...]
    carried: tuple[Carried, ...]
    released: tuple[Carried, ...]
    new_tokens: int
    tail_tokens: int


def boundary(buffer: Buffer, tokens: Sequence[int], limits: Limits, outside: int) -> Cut | None:
    """Return where to cut the buffer, or None when nothing before the tail is new.

    The tail takes whole exchanges from the newest back: always that of the newest real message, then while it
    has fewer than `keep_recent_tokens`, or fewer than `keep_recent_messages` messages, as far as the
    compacted request stays below soft. `tokens[i]` is the size of message i, `outside` of system, tools and
    output.
    """
    runs = exchanges(buffer.entries)
    anchor = _anchor(buffer.entries, runs)
    if anchor is None:
        return None
    room = limits.soft - outside - limits.summary_max_tokens - _always_kept(buffer.entries, tokens)
    first = _tail(buffer.entries, runs, anchor, tokens, limits, room)
    index = runs[first].start
    return _cut(buffer, runs[:first], index, tokens, room - sum(tokens[index:]))


def _anchor(entries: Sequence[Entry], runs: Sequence[Exchange]) -> int | None:
    """The exchange that must stay: that of the newest real message, or an earlier one that is open or holds a
    compaction of the provider's that has to stay."""
    newest = newest_exchange(entries, runs)
    if newest is None:
        return None
    return min([newest, *(k for k, run in enumerate(runs) if run.open), *_staying_bases(entries, runs)])


def _staying_bases(entries: Sequence[Entry], runs: Sequence[Exchange]) -> list[int]:
    """The exchanges with a compaction of the provider's that no summary can stand before with more in it: one
    that stays behind the summary would hide it, and the latest, if it can't be read, can't be summarised."""
    holders = [k for k, run in enumerate(runs) if any(e.is_base for e in entries[run.start : run.stop])]
    spans = {k: entries[runs[k].start : runs[k].stop] for k in holders}
    return [
        k
        for k, span in spans.items()
        if must_stay(span)
        or any(e.is_base and e.kind is Kind.EPHEMERAL for e in span)
        or (k == holders[-1] and any(e.ties.base is Base.SEALED for e in span))
    ]


def latest_base(entries: Sequence[Entry]) -> int | None:
    """Return the index of the latest message with a compaction of the provider's, None without one."""
    return next((i for i in reversed(range(len(entries))) if entries[i].is_base), None)


def newly_summarised(buffer: Buffer, cut: Cut, since: int) -> list[int]:
    """Return the buffer indices of what a compaction would summarise of the lineage from a count on."""
    carried = {c.index for c in cut.carried}
    return [
        i
        for i, e in enumerate(buffer.entries[: cut.index])
        if e.kind is Kind.SPOKEN and e.index >= since and e.index not in carried
    ]


def behind(buffer: Buffer, position: Position) -> list[int]:
    """Return the buffer indices of what a record at that position surely leaves as it is."""
    loose = (Kind.SYSTEM, Kind.EPHEMERAL)
    return [i for i, e in enumerate(buffer.entries) if e.count > position.count or e.kind in loose]


def newest_exchange(entries: Sequence[Entry], runs: Sequence[Exchange]) -> int | None:
    """Return which of the exchanges holds the newest real message, None when there is no such message."""
    newest = newest_real(entries)
    if newest is None:
        return None
    return next(k for k, run in enumerate(runs) if run.start <= newest < run.stop)


def newest_real(entries: Sequence[Entry]) -> int | None:
    """Return the index of the newest message that is not system, ephemeral, internal or a summary."""
    real = (
        i
        for i in reversed(range(len(entries)))
        if entries[i].kind in _LINEAGE and not entries[i].marks.internal
    )
    return next(real, None)


def _always_kept(entries: Sequence[Entry], tokens: Sequence[int]) -> int:
    return sum(
        size
        for entry, size in zip(entries, tokens, strict=True)
        if entry.kind in (Kind.SYSTEM, Kind.EPHEMERAL) or entry.marks.pinned
    )


def _tail(
    entries: Sequence[Entry],
    runs: Sequence[Exchange],
    anchor: int,
    tokens: Sequence[int],
    limits: Limits,
    room: int,
) -> int:
    """Return the first exchange of the tail."""

    def size(run: Exchange) -> int:
        return sum(tokens[i] for i in range(run.start, run.stop) if entries[i].kind in _LINEAGE)

    def messages(run: Exchange) -> int:
        return sum(entries[i].kind in _LINEAGE for i in range(run.start, run.stop))

    first = anchor
    kept, held = sum(map(size, runs[first:])), sum(map(messages, runs[first:]))
    while first > 0 and not _is_carried(entries, runs[first - 1]):
        grown = kept + size(runs[first - 1])
        wanted = grown <= limits.keep_recent_tokens or held < limits.keep_recent_messages
        if grown > room or not wanted:
            break
        first -= 1
        kept, held = grown, held + messages(runs[first])
    return first


def _is_carried(entries: Sequence[Entry], run: Exchange) -> bool:
    return any(entries[i].kind is Kind.CARRIED for i in range(run.start, run.stop))


def _cut(
    buffer: Buffer, head: Sequence[Exchange], index: int, tokens: Sequence[int], spare: int
) -> Cut | None:
    entries = buffer.entries
    staying = _staying(entries, head, index, tokens, spare)
    carried = [i for i in sorted(staying) if entries[i].kind in _LINEAGE]
    gone = [
        i
        for run in head
        for i in range(run.start, run.stop)
        if entries[i].kind in _LINEAGE and i not in staying
    ]
    if not any(entries[i].kind is Kind.SPOKEN for i in gone):
        return None
    loose = {i for i in range(index) if entries[i].kind is Kind.EPHEMERAL}
    return Cut(
        index=index,
        position=position_after(buffer, index),
        kept=tuple(sorted(loose.union(staying))),
        carried=tuple(_listed(entries[i]) for i in carried),
        released=tuple(_listed(entries[i]) for i in gone if entries[i].kind is Kind.CARRIED),
        new_tokens=sum(tokens[i] for i in gone),
        tail_tokens=sum(tokens[index:]) + sum(tokens[i] for i in loose.union(staying)),
    )


def _staying(
    entries: Sequence[Entry], head: Sequence[Exchange], index: int, tokens: Sequence[int], spare: int
) -> set[int]:
    """Return the indices before the cut that are carried, exchange by exchange: pinned ones, those tied to an
    ephemeral message by a call, and the active request when its text is over the summary's cap and it
    fits."""
    request = next((i for i in reversed(range(len(entries))) if entries[i].request), None)
    found: set[int] = set()
    for run in head:
        span = range(run.start, run.stop)
        over_cap = request in span and entries[request or 0].request > MAX_REQUEST_CHARS
        whole = over_cap and sum(tokens[i] for i in span) <= spare
        hides = whole and any(entries[i].is_base for i in span)
        if must_stay([entries[i] for i in span]) or (whole and not hides):
            found.update(i for i in span if entries[i].kind in _LINEAGE)
    return found


def must_stay(run: Sequence[Entry]) -> bool:
    """Say whether an exchange is never taken apart or left out: pinned, or tied to an ephemeral message."""
    return bound_to_ephemeral(run) or any(e.marks.pinned and e.kind in _LINEAGE for e in run)


def _listed(entry: Entry) -> Carried:
    return Carried(index=entry.index, digest=entry.digest)
