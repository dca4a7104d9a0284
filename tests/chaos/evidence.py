"""Evidence of a run that broke no law, for tests to spoil."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chaos.fault import Planned
from chaos.faults import BY_NAME
from chaos.journal import Swap, Turn

from chaos.evidence import Attempt, Call, Evidence, Happened, Moment, Sighting

SESSION = "h0s0"
CALM = 100.0
WALL = 1_000.0
"""What the wall clock is ahead of the monotonic one."""


def swap(**fields: Any) -> Swap:
    """Return the swap of a record that stands for messages 0 to 9, of which it carries number 4."""
    known = Swap(
        incarnation="one",
        generation=0,
        version=1,
        body="b1",
        base=0,
        position=10,
        covered=[[0, 4], [5, 10]],
        carried=[4],
        released=[],
        degraded=False,
        again=False,
        message={"role": "user", "content": "summary"},
    )
    return replace(known, **fields)


def turn(said: int, **fields: Any) -> Turn:
    """Return a turn of a session that has not swapped yet."""
    known = Turn(
        session=SESSION,
        life=1,
        at=float(said),
        number=said,
        said=said,
        raw=False,
        action="keep",
        reason="below_soft",
        degraded=False,
        rung="",
        took=0.01,
        waited=0.0,
        first=False,
        tokens=100,
        window=1_000,
        position=0,
        kept=[[0, said]],
        sent=[[0, said]],
        left_out=[],
        summary_sent=True,
        broken=[],
    )
    return replace(known, **fields)


def swapped(said: int, **fields: Any) -> Turn:
    """Return a turn behind the swap of `swap()`."""
    kept = [[4, 5], [10, said]]
    return turn(said, **{"position": 10, "kept": kept, "sent": kept, **fields})


def happened(name: str, began: float, ended: float, target: str = "") -> Happened:
    """Return a fault that was between two points of the monotonic clock."""
    group = BY_NAME[name].group
    planned = Planned(began, name, group, target or group.value, ended - began, 0.5)
    return Happened(planned, Moment(began, WALL + began), Moment(ended, WALL + ended))


def sighting(version: int = 1, **fields: Any) -> Sighting:
    """Return a version as the probe saw it."""
    known = Sighting(SESSION, "one", version, f"b{version}", since=20.0, at=20.2)
    return replace(known, **fields)


def call(at: float, **fields: Any) -> Call:
    """Return a call about a chunk that went well; it took a second."""
    known = Call(SESSION, "text", chunk=True, at=WALL + at, ended=WALL + at + 1, outcome="good", tokens=50)
    return replace(known, **fields)


def attempt(began: float, ended: float, outcome: str = "success", **fields: Any) -> Attempt:
    """Return an attempt that told of its end."""
    known = Attempt(
        session=SESSION,
        job="job",
        epoch=1,
        number=0,
        outcome=outcome,
        reason="published",
        began=WALL + began,
        ended=WALL + ended,
    )
    return replace(known, **fields)


def well(**fields: Any) -> Evidence:
    """Return the evidence of a run in which all went well."""
    known: dict[str, Any] = {
        "sessions": [SESSION],
        "calm": CALM,
        "entries": [turn(18), swapped(20, swap=swap()), swapped(22), swapped(24, at=CALM + 1)],
        "sightings": [sighting()],
        "calls": [call(19.0)],
        "attempts": [attempt(18.0, 21.0)],
    }
    return Evidence(**{**known, **fields})
