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
    bare = found.rows[m.COUNTED].bare
    first: tuple[Cell, ...] = (m.BARE, "", _us(median(bare)), _us(percentile(bare, 0.99)), 1, "")
    return (first, *(_row(found, name) for name in found.rows))


def _row(found: m.Figures, name: str) -> tuple[Cell, ...]:
    pair = found.rows[name]
    middle, tail = median(pair.call), percentile(pair.call, 0.99)
    recount = found.peer_recount if name == m.PEER else found.rows[m.RECOUNT].call
    bare = median(pair.bare or found.rows[m.COUNTED].bare)
    messages = found.messages.get(name, found.messages[m.COUNTED])
    return (name, messages, _us(middle), _us(tail), middle / bare, middle / median(recount))


def _us(seconds: float) -> int:
    return round(seconds * 1e6)


def goals(found: m.Figures) -> tuple[Goal, ...]:
    """Return what was aimed for beside what came out."""
    counted = found.rows[m.COUNTED]
    turn, bare = median(counted.call), median(counted.bare)
    faster = median(found.rows[m.RECOUNT].call) / turn
    fresh = median(found.rows[m.FRESH].call) * 1_000 / found.megabytes
    return (
        _at_most("median of a turn near soft, in bare round trips", turn / bare, MEDIAN_TRIPS),
        _at_most("its p99, in median bare round trips", percentile(counted.call, 0.99) / bare, TAIL_TRIPS),
        Goal(
            "a recount over such a turn",
            f"{FASTER_THAN_RECOUNT:g} times",
            f"{faster:.1f} times",
            faster >= FASTER_THAN_RECOUNT,
        ),
        _at_most("ten times the messages, in turns", median(found.rows[m.LARGE].call) / turn, LARGER),
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
        "a row's round trips are those that took turns with it; all but the cold row come back to back",
        peer if m.PEER in found.rows else found.peer,
    )
