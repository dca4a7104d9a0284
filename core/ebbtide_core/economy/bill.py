"""What a sequence of requests costs, with the provider's cache of prompt beginnings and without it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ebbtide_core.economy.rates import Rates

MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt that is cached as a whole: a message, or system and tools together.

    Parts of equal `name` are byte for byte the same; `tokens` are the model's.
    """

    name: Hashable
    tokens: int


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model: the parts of its prompt in order, tokens of its answer, seconds since the call
    before it."""

    prompt: Sequence[Part]
    output: int = 0
    idle: float = 0.0


@dataclass(frozen=True, slots=True)
class Bill:
    """Tokens by how they are billed, and their price in US dollars."""

    input: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    dollars: float = 0.0

    def __add__(self, other: Bill) -> Bill:
        """Return both as one bill."""
        return Bill(
            self.input + other.input,
            self.written + other.written,
            self.read + other.read,
            self.output + other.output,
            self.dollars + other.dollars,
        )


def bill(requests: Iterable[Request], rates: Rates, *, cached: bool = True) -> Bill:
    """Return the bill of requests that follow each other.

    Cached: the parts that a prompt begins with, as the prompt before it did, are read while they are warm,
    and the rest is written. Not cached: all is plain input.
    """
    total = Bill()
    before: Sequence[Part] = ()
    for request in requests:
        warm = request.idle <= rates.cache_seconds
        total += _charged(request, before if warm else (), rates) if cached else _plain(request, rates)
        before = request.prompt
    return total


def _charged(request: Request, warm: Sequence[Part], rates: Rates) -> Bill:
    """Return the bill of a request of which the cache holds the beginning that it shares with `warm`."""
    prompt = sum(part.tokens for part in request.prompt)
    read = sum(part.tokens for part in request.prompt[: _shared(request.prompt, warm)])
    written, by = prompt - read, rates.of(prompt)
    dollars = written * by.cache_write + read * by.cache_read + request.output * by.output
    return Bill(written=written, read=read, output=request.output, dollars=dollars / MILLION)


def _plain(request: Request, rates: Rates) -> Bill:
    prompt = sum(part.tokens for part in request.prompt)
    by = rates.of(prompt)
    dollars = prompt * by.input + request.output * by.output
    return Bill(input=prompt, output=request.output, dollars=dollars / MILLION)


def _shared(one: Sequence[Part], other: Sequence[Part]) -> int:
    """Return how many parts both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a.name != b.name), min(len(one), len(other)))
