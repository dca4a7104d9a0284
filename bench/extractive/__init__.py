"""The summary made without a model: messages a second, memory, and what hostile text costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench.extractive.cost import least
from bench.extractive.job import Shelf, made, upload
from bench.extractive.memory import memory
from bench.extractive.noise import SIZES, growth
from bench.extractive.session import session
from bench.report import Cell, Goal, Result
from ebbtide_core.budget.tokens import tokenizer
from ebbtide_core.contract.job import Job
from ebbtide_core.dialects.base import PlainMessage
from ebbtide_core.dialects.detect import by_name
from ebbtide_core.policy import Policy
from ebbtide_core.summary.extractive import extract
from ebbtide_core.summary.source import SourceMessage, source_message
from ebbtide_worker.plan import borders

RATE_GOAL: Final = 4_000
GROWTH_GOAL: Final = 2.0
MEMORY_GOAL: Final = 250
DIALECTS: Final = ("anthropic", "openai")
COLUMNS: Final = ("work", "messages", "MB", "ms", "a second", "ms a MB", "x json", "x o200k", "x tenth")

_JSON: Final = "json.dumps"
_COUNT: Final = "o200k count"
_PURE: Final = "summaries"
_JOB: Final = "whole job"


@dataclass(frozen=True, slots=True)
class Sample:
    """One session, as its messages, as the chunks that a job makes of it, and as a job."""

    name: str
    messages: list[PlainMessage]
    chunks: list[list[SourceMessage]]
    text: str
    job: Job
    shelf: Shelf

    @classmethod
    def of(cls, messages: int, tokens: int, dialect_name: str) -> Sample:
        """Return a session of so many messages with words of so many tokens each."""
        dialect = by_name(dialect_name)
        talk = session(messages, tokens, dialect_name)
        source = [source_message(i, m, dialect) for i, m in enumerate(talk)]
        texts = ["\n".join(block.text for block in message.blocks) for message in source]
        starts = [i for i, message in enumerate(talk) if not dialect.only_results(message)]
        sizes = [tokenizer().count(text) for text in texts]
        runs = borders(sizes, 0, starts, Policy().chunk_tokens)
        name = f"{tokens:,} tokens each, {dialect_name}"
        chunks = [source[first:stop] for first, stop in runs]
        return cls(name, talk, chunks, "\n".join(texts), *upload(talk, dialect_name))

    @property
    def megabytes(self) -> float:
        """The text's size in MB of UTF-8."""
        return len(self.text.encode()) / 1e6

    def rivals(self) -> dict[str, Callable[[], object]]:
        """Return what is measured side by side."""
        return {
            _JSON: lambda: json.dumps(self.messages),
            _COUNT: lambda: tokenizer().count(self.text),
            _PURE: lambda: [extract(chunk) for chunk in self.chunks],
            _JOB: lambda: made(self.job, self.shelf),
        }


def run(*, quick: bool) -> Result:
    """Measure sessions of short messages in both dialects, two huge messages, memory, and hostile text."""
    messages, huge, rounds = (100, 2_000, 1) if quick else (2_000, 100_000, 7)
    short = [Sample.of(messages, 100, name) for name in DIALECTS]
    samples = [*short, Sample.of(2, huge, "openai")]
    costs = [least(sample.rivals(), rounds) for sample in samples]
    noise = growth(rounds)
    used = memory(short[0].job, short[0].shelf)
    rows = [row for sample, cost in zip(samples, costs, strict=True) for row in _rows(sample, cost)]
    rows += [_noise_row(name, *each) for name, each in noise.items()]
    return Result(
        name="extractive",
        title="Extractive summary: CPU time on one core",
        columns=COLUMNS,
        rows=tuple(rows),
        goals=tuple(_goals(messages, costs[: len(short)], noise, used)),
        notes=_NOTES,
    )


def _rows(sample: Sample, cost: dict[str, float]) -> list[tuple[Cell, ...]]:
    count, size = len(sample.messages), sample.megabytes
    return [
        (
            f"{what}: {sample.name}",
            count,
            size,
            1_000 * seconds,
            count / seconds,
            1_000 * seconds / size,
            seconds / cost[_JSON],
            seconds / cost[_COUNT],
            "",
        )
        for what, seconds in cost.items()
    ]


def _noise_row(name: str, few: float, many: float) -> tuple[Cell, ...]:
    size = SIZES[1]
    return f"noise: {name}", 4, size / 1e6, 1_000 * size * many, "", 1e9 * many, "", "", many / few


def _goals(
    messages: int,
    costs: list[dict[str, float]],
    noise: dict[str, tuple[float, float]],
    used: dict[str, float],
) -> list[Goal]:
    worst = max(noise, key=lambda name: noise[name][1] / noise[name][0])
    grown = noise[worst][1] / noise[worst][0]
    told = f"{used['peak']:.0f} MiB, of which the job added {used['peak'] - used['before']:.0f}"
    return [
        *map(partial(_rate, messages, costs), (_PURE, _JOB)),
        Goal(
            "cost of a character at ten times the size, worst text",
            f"at most {GROWTH_GOAL:.0f} times",
            f"{grown:.2f} times ({worst})",
            grown <= GROWTH_GOAL,
        ),
        Goal(
            "peak memory of a process that does the job",
            f"at most {MEMORY_GOAL} MB",
            f"{told}; its Python objects at most {used['held']:.1f} MiB at one time",
            used["peak"] <= MEMORY_GOAL * 1e6 / (1 << 20),
        ),
    ]


def _rate(messages: int, costs: list[dict[str, float]], what: str) -> Goal:
    rates = [messages / cost[what] for cost in costs]
    told = " and ".join(f"{rate:,.0f}" for rate in rates)
    goal = f"at least {RATE_GOAL:,} messages a second"
    return Goal(f"{what}, short messages, {' and '.join(DIALECTS)}", goal, told, min(rates) >= RATE_GOAL)


_NOTES: Final = (
    "CPU time of the process, all threads; the best of seven rounds in which all take turns.",
    "x json, x o200k: times json.dumps of the same messages, times one token count of the same text.",
    "Tokens of a message are those of its own words (text, arguments, result); MB are MB of that text.",
    "summaries: of all chunks of the default budget. whole job: reading the snapshot, planning, chunks, "
    "merging, validating, the record; no store.",
    f"noise: one text of {SIZES[1]:,} characters, all of which is read, as request, speech, call and result; "
    "MB are those of one text. x tenth: cost of a character, times that at a tenth of the size.",
    "Memory: a fresh process with its tokenizer, whose loading takes more than it then keeps, so that a job "
    "may add nothing to the peak; the job's own Python objects by tracemalloc, in another process.",
)
