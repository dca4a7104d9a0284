"""How fast real sessions go: read off the clock that tool results in the transcripts show.

Transcripts carry no time a message. But a session's first time is known, and test runners and loggers print
the time they run at. Between two such readings lie so many turns, in which the model wrote so many tokens:
over all of them, seconds = per turn x turns + per token x tokens, which is fitted here.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from typing import Any, Final

LONGEST_LOOK: Final = 3600.0
"""A reading is at most so many seconds after the one before; an older or a later time is content."""

LONGEST_TURN: Final = 30.0
"""Stretches with more seconds a turn are left out: a person was away, or a sub-agent worked meanwhile."""

_STAMP: Final = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)")
_WALL: Final = re.compile(r"Start at\s+\d\d:(\d\d):(\d\d)")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a real session: `seconds` between two readings, its `turns`, tokens `written` in them."""

    seconds: float
    turns: int
    written: int


@dataclass(frozen=True, slots=True)
class Pace:
    """The fitted law: seconds `per_turn` and `per_token` written.

    `stretches` are how many turns went by how many times as slow as the law says, one entry a span.
    """

    per_turn: float
    per_token: float
    stretches: tuple[tuple[float, int], ...]

    def gaps(self, written: Sequence[int], seed: str) -> list[float]:
        """Return the seconds from each request to the next, given the tokens that each turn's answer has.

        Slow and fast stretches come as long as they were measured, in an order that the seed decides.
        """
        factors = self._factors(random.Random(seed))
        return [(self.per_turn + self.per_token * tokens) * next(factors) for tokens in written]

    def _factors(self, chance: random.Random) -> Iterator[float]:
        while True:
            factor, turns = chance.choice(self.stretches)
            yield from repeat(factor, turns)


USUAL: Final = Pace(5.1, 0.0186, ((0.9, 30), (0.74, 15), (1.0, 30), (1.15, 12), (2.1, 8)))
"""About what the real transcripts give, for where they are absent."""


def fitted(spans: Sequence[Span]) -> Pace:
    """Return the law of these spans (least squares, a span's error growing with the root of its turns).

    It gives all spans together the seconds that they took.
    """
    turns = sum(s.turns for s in spans)
    written = sum(s.written for s in spans)
    squares = sum(s.written**2 / s.turns for s in spans)
    seconds = sum(s.seconds for s in spans)
    mixed = sum(s.written * s.seconds / s.turns for s in spans)
    determinant = turns * squares - written**2
    per_turn = (squares * seconds - written * mixed) / determinant
    per_token = (turns * mixed - written * seconds) / determinant
    stretches = tuple((s.seconds / (per_turn * s.turns + per_token * s.written), s.turns) for s in spans)
    return Pace(per_turn, per_token, stretches)


def spans(record: Mapping[str, Any], written: Mapping[int, int]) -> list[Span]:
    """Return the stretches of one transcript between what it shows of the clock.

    `written` are the tokens of each assistant message, by its index. Empty without a first time in the
    transcript's `meta`.
    """
    first = record["meta"].get("first_ts")
    if not isinstance(first, str):
        return []
    found: list[Span] = []
    at, turns, tokens = datetime.fromisoformat(first).timestamp(), 0, 0
    for index, message in enumerate(record["messages"]):
        if message["role"] == "assistant":
            turns, tokens = turns + 1, tokens + written[index]
        elif index:
            read = reading(json.dumps(message), at)
            if read is not None and turns:
                if read - at <= LONGEST_TURN * turns:
                    found.append(Span(read - at, turns, tokens))
                at, turns, tokens = read, 0, 0
    return found


def reading(text: str, after: float) -> float | None:
    """Return the latest time that a text shows within an hour after a moment, both in seconds of the epoch.

    Of a wall clock only minutes and seconds count, since its zone is unknown: the first such moment is meant.
    """
    shown = [_seconds(stamp) for stamp in _STAMP.findall(text)]
    shown += [after + (int(m) * 60 + int(s) - after) % 3600 for m, s in _WALL.findall(text)]
    return max((t for t in shown if after < t <= after + LONGEST_LOOK), default=None)


def _seconds(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0
