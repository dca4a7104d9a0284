"""What the samples of a run come to."""

from __future__ import annotations

from typing import Final

from bench.prepare import measure as m
from bench.report import Cell, Goal
from bench.samples import median, percentile

MEDIAN_TRIPS: Final = 3.0
TAIL_TRIPS: Final = 5.0
FASTER_THAN_RECOUNT: Final = 15.0
LARGER: Final = 5.0
FRESH_MS_A_MB: Final = 15.0


def rows(found: m.Figures) -> tuple[tuple[Cell, ...], ...]:
    """Return a row for each rival: microseconds, and ratios to a bare round trip and to a recount."""
    return tuple(_row(found, name) for name in found.samples)


def _row(found: m.Figures, name: str) -> tuple[Cell, ...]:
    samples = found.samples[name]
    middle, tail = median(samples), percentile(samples, 0.99)
    recount = median(found.peer_recount) if name == m.PEER else median(found.samples[m.RECOUNT])
    messages: Cell = "" if name == m.BARE else found.messages.get(name, found.messages[m.COUNTED])
    trips = middle / median(found.samples[m.BARE])
    return (name, messages, round(middle * 1e6), round(tail * 1e6), trips, middle / recount)


def goals(found: m.Figures) -> tuple[Goal, ...]:
    """Return what was aimed for beside what came out."""
    bare = median(found.samples[m.BARE])
    turn = median(found.samples[m.COUNTED])
    tail = percentile(found.samples[m.COUNTED], 0.99)
    faster = median(found.samples[m.RECOUNT]) / turn
    larger = median(found.samples[m.LARGE]) / turn
    fresh = median(found.samples[m.FRESH]) * 1_000 / found.megabytes
    return (
        _at_most("median of a turn, in bare round trips", turn / bare, MEDIAN_TRIPS),
        _at_most("p99 of a turn, in bare round trips (median)", tail / bare, TAIL_TRIPS),
        Goal(
            "a recount over a turn",
            f"{FASTER_THAN_RECOUNT:g} times",
            f"{faster:.1f} times",
            faster >= FASTER_THAN_RECOUNT,
        ),
        _at_most("ten times the messages, in turns", larger, LARGER),
        _at_most("stateless host, ms a MB", fresh, FRESH_MS_A_MB),
        Goal(
            "tokenizer runs for a new 200 kB result at 1M",
            "0",
            str(found.calls_at_1m),
            found.calls_at_1m == 0,
        ),
    )


def _at_most(what: str, measured: float, limit: float) -> Goal:
    return Goal(what, f"at most {limit:g}", f"{measured:.2f}", measured <= limit)


def notes(found: m.Figures) -> tuple[str, ...]:
    """Return what a reader must know."""
    peer = f"{found.peer}; timed in its own process, its ratio is to a recount there"
    return (
        f"{found.messages[m.COUNTED]:,} messages, {found.tokens:,} o200k tokens, "
        f"{found.megabytes:.2f} MB of JSON; state store over TCP on this machine",
        f"each call after a pause of {m.PAUSE * 1_000:g} ms; rivals take turns within each round",
        peer if m.PEER in found.samples else found.peer,
    )
