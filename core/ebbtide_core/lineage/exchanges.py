"""Exchanges: the smallest runs of messages that stay together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ebbtide_core.dialects.base import NO_TIES
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

    The run from a call to its last result (see `paired`), with all that stands between, is one exchange. So
    is the run from a provider's own tool use to its end, and from what leads the items of an answer to the
    last of them.
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
    answers, waiting = paired(entries)
    for answer in answers:
        reach[answer.caller] = max(reach[answer.caller], answer.result)
    tied = any(entry.ties is not NO_TIES for entry in entries)
    for start, stop in (*_provider_runs(entries), *_led(entries)) if tied else ():
        reach[start] = max(reach[start], stop)
    return reach, waiting


def _provider_runs(entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    """Yield where a provider's own tool use began and where it ended."""
    begun: dict[str, int] = {}
    for i, entry in enumerate(entries):
        if entry.kind not in _OUTSIDE and entry.ties is not NO_TIES:
            yield from ((begun.pop(name), i) for name in entry.ties.ended if name in begun)
            begun.update(dict.fromkeys(entry.ties.begun, i))


def _led(entries: Sequence[Entry]) -> Iterator[tuple[int, int]]:
    """Yield each message that leads items of its answer, and the last of them."""
    last: int | None = None
    for i in reversed(range(len(entries))):
        entry = entries[i]
        if entry.part and entry.kind not in _OUTSIDE:
            last = i if last is None else last
            if entry.ties.leads:
                yield i, last
        elif entry.kind not in _NEVER_SPOKEN:
            last = None


def bound_to_ephemeral(run: Sequence[Entry]) -> bool:
    """Say whether an ephemeral message of an exchange is half of something, so that the others can't go."""
    led = any(entry.ties.leads for entry in run)
    return any(
        e.kind is Kind.EPHEMERAL
        and (e.calls or e.results or e.ties.begun or e.ties.ended or (led and e.part))
        for e in run
    )


class Answer(NamedTuple):
    """A call and a result of it: the call's id, and the buffer indices of the messages that hold them."""

    call_id: str
    caller: int
    result: int


def paired(entries: Sequence[Entry]) -> tuple[list[Answer], set[int]]:
    """Return each result that has a call, in the order of the results, and the messages with calls that still
    wait.

    A result answers the nearest call of its id that still waits, else the latest call of that id.
    """
    answers: list[Answer] = []
    open_calls: dict[str, list[int]] = {}
    latest: dict[str, int] = {}
    for i, entry in enumerate(entries):
        if entry.kind in _OUTSIDE:
            continue
        for call_id in entry.results:
            stack = open_calls.get(call_id)
            caller = stack.pop() if stack else latest.get(call_id)
            if caller is not None:
                answers.append(Answer(call_id, caller, i))
        for call_id in entry.calls:
            open_calls.setdefault(call_id, []).append(i)
            latest[call_id] = i
    return answers, {i for stack in open_calls.values() for i in stack}


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
    while at and (entries[at - 1].calls or entries[at - 1].part or entries[at - 1].kind in _NEVER_SPOKEN):
        at -= 1
    return at
