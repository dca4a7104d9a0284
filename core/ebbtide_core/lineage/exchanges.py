"""Exchanges: the smallest runs of messages that stay together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide_core.lineage.buffer import Entry, Kind

_OUTSIDE = (Kind.SYSTEM, Kind.SUMMARY)
_NEVER_SPOKEN = (Kind.SYSTEM, Kind.EPHEMERAL)


@dataclass(frozen=True, slots=True)
class Exchange:
    """Buffer indices `start` up to, not including, `stop`. `open`: a call waits, only results can follow."""

    start: int
    stop: int
    open: bool = False


def exchanges(entries: Sequence[Entry]) -> list[Exchange]:
    """Return the exchanges of a buffer in order; system messages and the summary belong to none by
    themselves.

    A result belongs to the nearest call of its id that still waits, else to the latest call of that id; the
    run from the call to its last result, with all that stands between, is one exchange.
    """
    reach, waiting = _reach(entries)
    callers = _last_callers(entries)
    found: list[Exchange] = []
    at, size = 0, len(entries)
    while at < size:
        if entries[at].kind in _OUTSIDE:
            at += 1
            continue
        stop = _run_end(reach, at)
        found.append(Exchange(at, stop, open=any(i in waiting for i in range(max(at, callers), stop))))
        at = stop
    return found


def _reach(entries: Sequence[Entry]) -> tuple[list[int], set[int]]:
    """For each message the last one it must stay with, and the messages with calls that still wait."""
    reach = list(range(len(entries)))
    open_calls: dict[str, list[int]] = {}
    latest: dict[str, int] = {}
    for i, entry in enumerate(entries):
        if entry.kind in _OUTSIDE:
            continue
        for call_id in entry.results:
            stack = open_calls.get(call_id)
            caller = stack.pop() if stack else latest.get(call_id)
            if caller is not None:
                reach[caller] = max(reach[caller], i)
        for call_id in entry.calls:
            open_calls.setdefault(call_id, []).append(i)
            latest[call_id] = i
    return reach, {i for stack in open_calls.values() for i in stack}


def _run_end(reach: Sequence[int], start: int) -> int:
    end, at = reach[start], start
    while at <= end:
        end = max(end, reach[at])
        at += 1
    return end + 1


def _last_callers(entries: Sequence[Entry]) -> int:
    """Return the index of the first of the calls that only results follow: parallel ones may be messages in a
    row."""
    at = len(entries)
    while at and (entries[at - 1].only_results or entries[at - 1].kind in _NEVER_SPOKEN):
        at -= 1
    while at and (entries[at - 1].calls or entries[at - 1].kind in _NEVER_SPOKEN):
        at -= 1
    return at
