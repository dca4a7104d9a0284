"""No message is lost or there twice: each is in the buffer, or a record's coverage proves that it stands for
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from chaos.evidence import Evidence
from chaos.journal import Swap, Turn
from chaos.spans import numbers


def covered(found: Evidence) -> Iterator[str]:
    """Each message ever said is kept, or stands before the position of the summary that is kept."""
    for session, turns in found.turns.items():
        for before, turn in zip([None, *turns], turns, strict=False):
            carried = _carried(found.swaps[session], turn)
            for told in (_kept(turn, carried), _said(before, turn), _sent(turn)):
                if told:
                    yield f"{session}, turn with {turn.said} messages: {told}"


def proved(found: Evidence) -> Iterator[str]:
    """The chunks and carried messages of each record cover its range, each message once; and its range begins
    no later than what its session's host had a record for.
    """
    for session, swaps in found.swaps.items():
        known = 0
        for turn, swap in swaps:
            told = _range(swap)
            if swap.base > known:
                told = told or f"builds on {swap.base} messages, of which the host had a record for {known}"
            if told:
                yield f"{session}, turn with {turn.said} messages, version {swap.version} {told}"
            known = max(known, swap.position)


def _kept(turn: Turn, carried: Sequence[int]) -> str:
    """What is wrong with the buffer: it has to hold the carried messages, then all after the position."""
    kept = numbers(turn.kept)
    if kept == [*carried, *range(turn.position, turn.said)]:
        return ""
    expected = Counter([*carried, *range(turn.position, turn.said)])
    lost, extra = expected - Counter(kept), Counter(kept) - expected
    return f"the buffer lacks {_few(lost)}, has {_few(extra)} too often, or is out of order"


def _said(before: Turn | None, turn: Turn) -> str:
    """What is wrong with the journal itself: a host that comes back has lost no message."""
    if before is not None and turn.said <= before.said:
        return f"the host has fewer messages than the {before.said} before"
    return ""


def _sent(turn: Turn) -> str:
    """What is wrong with the request: all that is kept goes out once, or is declared as left out."""
    kept, sent = Counter(numbers(turn.kept)), Counter(numbers(turn.sent))
    twice = Counter({number: times for number, times in sent.items() if times > 1})
    undeclared = kept - sent - Counter(numbers(turn.left_out))
    if twice or sent - kept:
        return f"the request has {_few(twice + (sent - kept))} too often"
    if undeclared:
        return f"the request lacks {_few(undeclared)}, and the report does not say so"
    return "" if turn.summary_sent else "the request lacks the summary, and the report does not say so"


def _carried(swaps: Sequence[tuple[Turn, Swap]], turn: Turn) -> list[int]:
    """Return the messages that the summary in a turn's buffer carries."""
    before = [swap for other, swap in swaps if other.said <= turn.said and swap.position == turn.position]
    return before[-1].carried if before else []


def _range(swap: Swap) -> str:
    carried = [index for index in swap.carried if index >= swap.base]
    found = sorted([*numbers(swap.covered), *carried])
    if found == list(range(swap.base, swap.position)):
        return ""
    expected = Counter(range(swap.base, swap.position))
    missing, extra = expected - Counter(found), Counter(found) - expected
    return f"covers {_few(missing)} not at all, {_few(extra)} too often"


def _few(found: Counter[int]) -> str:
    return ", ".join(map(str, sorted(found)[:5])) + (" and more" if len(found) > 5 else "") or "none"
