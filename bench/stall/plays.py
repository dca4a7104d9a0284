"""The sessions of the benchmark: real ones as they were said, and ones that grow like real ones."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bench.stall.cadence import USUAL, Pace, Span, fitted, spans
from ebbtide_core.budget.tokens import Tokenizer, tokenizer
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.jsonio import compact
from ebbtide_core.policy import Policy, limits

DATA: Final = Path(__file__).resolve().parents[3] / "shared" / "data"
WINDOW: Final = 32_000
SHRINK: Final = WINDOW / 200_000
"""Real sessions run in a window of 32k; those that grow as in one of 200k have their texts shrunk to fit."""

LEAST_TURNS: Final = 5
START_SHARE: Final = 0.62
"""A session that grows as in a large window begins when about so much of it is taken: below soft."""

_CALL_TOKENS: Final = 45
_WORDS: Final = (
    "order", "price", "stock", "label", "queue", "index", "table", "report", "value", "module", "branch",
    "record", "field", "number", "result", "change", "check", "line", "path", "error",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One turn of a real session: tokens that the answer has, tokens that all up to the next request add,
    and the seconds until then.
    """

    written: int
    growth: int
    gap: float


@dataclass(frozen=True)
class Play:
    """A session to play: the messages before index `start` are there at the beginning.

    `gaps[n]` are the seconds from request n to the next; requests go out before each assistant message from
    `start` on.
    """

    name: str
    dialect: str
    system: Any
    tools: Any
    messages: tuple[dict[str, Any], ...]
    gaps: tuple[float, ...]
    policy: Policy
    start: int = 0

    @property
    def requests(self) -> list[int]:
        """The indices of the messages that requests go out for."""
        return [i for i, m in enumerate(self.messages) if i >= self.start and m["role"] == "assistant"]

    def first(self, turns: int) -> Play:
        """Return the session as far as its first turns go."""
        stop = next(iter(self.requests[turns:]), len(self.messages))
        return replace(self, messages=self.messages[:stop], gaps=self.gaps[:turns])

    def faster(self, factor: float) -> Play:
        """Return the session with requests that follow each other faster."""
        return replace(self, gaps=tuple(gap / factor for gap in self.gaps))


@dataclass(frozen=True)
class Repertoire:
    """What there is to play, and the turns that it is made of. `pace` and `measured` tell of its cadence."""

    plays: tuple[Play, ...]
    steps: tuple[tuple[Step, ...], ...]
    pace: Pace
    measured: tuple[Span, ...]


def real(policy: Policy, most_turns: int) -> Repertoire | None:
    """Return the real sessions that come to soft in the window, of each the first turns. None where they are
    absent.
    """
    count = tokenizer()
    records = list(_records(DATA))
    if not records:
        return None
    sizes = [_sizes(record, count) for record in records]
    pairs = list(zip(records, sizes, strict=True))
    measured = [span for record, size in pairs for span in spans(record, dict(enumerate(size)))]
    pace = fitted(measured)
    plays, steps = [], []
    for record, size in pairs:
        whole = _play(record, size, pace, policy)
        play = whole.first(most_turns)
        outside = sum(count.count(compact(record[part])) for part in ("system", "tools") if record[part])
        resolved = limits(policy, WINDOW)
        largest = sum(size[: len(play.messages)]) + outside + resolved.max_tokens
        if len(play.gaps) >= LEAST_TURNS and largest >= resolved.soft:
            plays.append(play)
            steps.append(tuple(_steps(whole, size)))
    return Repertoire(tuple(plays), tuple(steps), pace, tuple(measured))


def invented(policy: Policy, number: int, turns: int, head: int = 0) -> Repertoire:
    """Return sessions with about the growth and the cadence of real ones, for where these are absent.

    `head`: tokens of earlier work that they begin with.
    """
    plays, steps = [], []
    for n in range(number):
        chance = random.Random(f"invented {n}")
        written = [int(chance.lognormvariate(5.1, 0.9)) for _ in range(turns)]
        results = [int(chance.lognormvariate(5.3, 1.2)) for _ in range(turns)]
        gaps = USUAL.gaps(written, f"invented {n}")
        told = [Step(w, w + r, g) for w, r, g in zip(written, results, gaps, strict=True)]
        plays.append(spoken(f"invented-{n}", told, policy, shrink=1.0, head=head))
        steps.append(tuple(told))
    return Repertoire(tuple(plays), tuple(steps), USUAL, ())


def wide(repertoire: Repertoire, policy: Policy, number: int, turns: int) -> list[Play]:
    """Return sessions whose growth, as a share of the window, is that of the real ones in 200k tokens.

    Real sessions' turns follow each other, session after session in an order that a seed decides; the texts
    are words, shrunk as the window is. They begin just below soft.
    """
    return [
        spoken(
            f"wide-{n}",
            _chained(repertoire.steps, turns, random.Random(f"wide {n}")),
            policy,
            shrink=SHRINK,
            head=int(START_SHARE * WINDOW) - limits(policy, WINDOW).max_tokens,
        )
        for n in range(number)
    ]


def _chained(steps: Sequence[Sequence[Step]], turns: int, chance: random.Random) -> list[Step]:
    found: list[Step] = []
    while len(found) < turns:
        found += chance.choice(steps)
    begin = chance.randrange(len(found) - turns + 1)
    return found[begin : begin + turns]


def spoken(name: str, steps: Sequence[Step], policy: Policy, *, shrink: float, head: int) -> Play:
    """Return a session of invented words: a request, `head` tokens of earlier work, then these turns."""
    chance = random.Random(name)
    messages = [{"role": "user", "content": f"Please go through the {_words(chance, 40)}."}]
    while head > 0:
        done = min(head, 400)
        messages += _exchange(chance, len(messages), done // 4, done)
        head -= done
    start = len(messages)
    for step in steps:
        messages += _exchange(chance, len(messages), int(step.written * shrink), int(step.growth * shrink))
    gaps = tuple(step.gap for step in steps)
    return Play(name, "anthropic", None, None, tuple(messages), gaps, policy, start)


def _exchange(chance: random.Random, number: int, written: int, growth: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "run", "input": {"what": "go"}}
    text = {"type": "text", "text": _words(chance, written - _CALL_TOKENS)}
    answer = {"type": "tool_result", "tool_use_id": call["id"], "content": _words(chance, growth - written)}
    return [{"role": "assistant", "content": [text, call]}, {"role": "user", "content": [answer]}]


def _words(chance: random.Random, number: int) -> str:
    return " ".join(chance.choices(_WORDS, k=max(1, number)))


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.transcripts-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _sizes(record: dict[str, Any], count: Tokenizer) -> list[int]:
    """Return the tokens of each message, as a host counts them."""
    weights = map(by_name(record["format"]).weight, record["messages"])
    return [count.count(weight.text) + weight.fixed + 1 for weight in weights]


def _play(record: dict[str, Any], sizes: Sequence[int], pace: Pace, policy: Policy) -> Play:
    messages = record["messages"]
    written = [size for message, size in zip(messages, sizes, strict=True) if message["role"] == "assistant"]
    return Play(
        name=record["id"],
        dialect=record["format"],
        system=record["system"],
        tools=record["tools"],
        messages=tuple(messages),
        gaps=tuple(pace.gaps(written, record["id"])),
        policy=policy,
    )


def _steps(play: Play, sizes: Sequence[int]) -> Iterator[Step]:
    requests = play.requests
    for here, after, gap in zip(requests, [*requests[1:], len(sizes)], play.gaps, strict=True):
        yield Step(sizes[here], sum(sizes[here:after]), gap)
