"""No chunk is paid twice, but for what was in flight when its attempt was ended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from chaos.evidence import Attempt, Call, Evidence
from chaos.fault import Group
from chaos.faults import BY_NAME
from chaos.fleet import LEASE

GOOD: Final = "good"
FLIGHT: Final = 2.0
"""Seconds that lie at most between the end of a call at the provider and the memo of its answer, with a store
that is well: a call that ended so shortly before its attempt was in flight.
"""

CANCELLED: Final = frozenset(
    {"lease_lost", "fenced", "superseded", "replaced", "store_unavailable", "worker_stopped", "handed_back"}
)
"""Reasons for which an attempt gives up the calls that it has under way. Otherwise it waits for them."""


def once(found: Evidence) -> Iterator[str]:
    """Text that was summarised well is not paid for again.

    It may be when the store lost the memo; when what was made of the answers failed, which deletes their
    memos; and when the answer was in flight as the attempt was cancelled, or as its worker was killed or
    stopped, or the store away, so that the attempt never told of its end.
    """
    paid = defaultdict[str, list[Call]](list)
    for call in sorted(found.calls, key=lambda call: call.at):
        if call.chunk and call.outcome == GOOD:
            paid[call.transcript].append(call)
    for calls in paid.values():
        for first, again in pairwise(calls):
            if not _excused(found, first, again):
                yield (
                    f"a chunk of {first.session} was paid for at {first.at:.1f} and again at {again.at:.1f} "
                    "(seconds of the wall clock, as in the logs of stand-in and workers)"
                )


def again(found: Evidence) -> tuple[int, int]:
    """Return how many calls paid for text that had been paid for, and their tokens."""
    seen: set[str] = set()
    calls = tokens = 0
    for call in sorted(found.calls, key=lambda call: call.at):
        if call.chunk and call.outcome == GOOD:
            calls, tokens = (calls + 1, tokens + call.tokens) if call.transcript in seen else (calls, tokens)
            seen.add(call.transcript)
    return calls, tokens


def _excused(found: Evidence, first: Call, again: Call) -> bool:
    if _data_lost(found, first.at, again.at) or _merged_in_vain(found, first, again):
        return True
    made = _attempt(found.attempts, first)
    if made is None:
        return _call_lost(found, first)
    if made.outcome == "failure":
        return _merged(found.calls, made) or _summarised(found.calls, made)
    in_flight = first.ended > made.ended - FLIGHT or _call_lost(found, first)
    return made.reason in CANCELLED and in_flight


def _attempt(attempts: Sequence[Attempt], call: Call) -> Attempt | None:
    """Return the attempt that made a call; None when no attempt that told of its end can have."""
    within = [a for a in attempts if a.session == call.session and a.began - 0.1 <= call.at <= a.ended]
    return within[-1] if within else None


def _summarised(calls: Sequence[Call], made: Attempt) -> bool:
    """Say whether an attempt had good answers about all its chunks: then it was the whole that failed."""
    own = [c for c in calls if c.chunk and c.session == made.session and made.began <= c.at <= made.ended]
    good = {call.transcript for call in own if call.outcome == GOOD}
    return all(call.transcript in good for call in own)


def _merged_in_vain(found: Evidence, first: Call, again: Call) -> bool:
    """Say whether a later attempt of the session met the memo, and what it made of all its chunks failed."""
    return any(
        _merged(found.calls, attempt)
        for attempt in found.attempts
        if attempt.session == first.session
        and attempt.outcome == "failure"
        and first.ended <= attempt.ended
        and attempt.began <= again.at
    )


def _merged(calls: Sequence[Call], made: Attempt) -> bool:
    """Say whether an attempt came as far as its merge: it had all its chunks, some perhaps by rules."""
    return any(
        not call.chunk and call.session == made.session and made.began <= call.at <= made.ended
        for call in calls
    )


def _data_lost(found: Evidence, since: float, until: float) -> bool:
    return any(
        BY_NAME[each.planned.name].loses and each.began.wall <= until and each.ended.wall >= since
        for each in found.happened
        if each.planned.group is Group.STORE
    )


def _call_lost(found: Evidence, call: Call) -> bool:
    """Say whether a worker may have ended, or the store been away for it, with a call in flight.

    A worker that is terminated ends a while after the fault, and so does a job for which the store was away.
    """
    return any(
        each.began.wall <= call.ended + FLIGHT and each.ended.wall + LEASE >= call.at
        for each in found.happened
        if each.planned.group in (Group.WORKER, Group.STORE)
    )
