"""One trial: ready jobs, permits for all of them at once, and what it cost until the last one ended."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from tests.waiting import wait_until

from bench.work.ground import Ground
from bench.work.jobs import Shape, enqueue
from ebbtide_core import metrics

_LONGEST: Final = 300.0
_SETTLE: Final = 0.5
"""Seconds after the last job's end, in which surplus permits are spent; no figure of time holds them."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What `jobs` jobs cost together. Times in seconds; `bodies` are the calls that they made, at most
    `in_flight` at a time.

    `trips` are the worker's round trips to the state store by script; `state` and `broker` the commands that
    the two servers were given, the broker's without what an idle worker asks in that time.
    """

    jobs: int
    chunks: int
    seconds: float
    cpu: float
    peak_mb: float
    trips: Counter[str]
    store_bytes: int
    state: int
    broker: float
    in_flight: int
    bodies: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    at: float
    cpu: float
    published: int
    chunks: int
    trips: Counter[tuple[str, ...]]
    store_bytes: int
    state: Counter[str]
    broker: Counter[str]


def tried(ground: Ground, shape: Shape, number: int, name: str, idle: float) -> Trial:
    """Return the cost of so many new jobs. `idle`: broker commands a second of a worker without work.

    Raises AssertionError when a job was not published or had another number of chunks.
    """
    enqueue(ground, shape, number, name)
    before, ended = _reading(ground), ground.worker.ended
    began = time.perf_counter()
    ground.permits.send(number)
    wait_until(lambda: ground.worker.ended >= ended + number, "all jobs end", _LONGEST)
    seconds = time.perf_counter() - began
    cpu = ground.worker.cpu - before.cpu
    wait_until(ground.idle, "the worker is idle")
    time.sleep(_SETTLE)
    after = _reading(ground)
    chunks, published = after.chunks - before.chunks, after.published - before.published
    assert (published, chunks) == (number, shape.chunks * number), (published, chunks)
    trips = after.trips - before.trips
    asked = ground.standin.control.requests(settled=True)
    return Trial(
        jobs=number,
        chunks=chunks,
        seconds=seconds,
        cpu=cpu,
        peak_mb=ground.worker.peak_mb,
        trips=Counter({script: times for (script,), times in trips.items()}),
        store_bytes=after.store_bytes - before.store_bytes,
        state=(after.state - before.state)["evalsha"],
        broker=(after.broker - before.broker).total() - idle * (after.at - before.at),
        in_flight=max((entry["in_flight"] for entry in asked), default=0),
        bodies=tuple(entry["body"] for entry in asked),
    )


def idle_rate(ground: Ground, seconds: float) -> float:
    """Return how many commands a second the broker is given while there is no work."""
    before, began = ground.commands(ground.broker), time.perf_counter()
    time.sleep(seconds)
    return (ground.commands(ground.broker) - before).total() / (time.perf_counter() - began)


def _reading(ground: Ground) -> _Reading:
    worker = ground.worker
    return _Reading(
        at=time.perf_counter(),
        cpu=worker.cpu,
        published=worker.counts(metrics.JOBS)["success", "published"],
        chunks=worker.counts(metrics.CHUNKS).total(),
        trips=worker.counts(metrics.STORE_TRIPS),
        store_bytes=worker.counts(metrics.STORE_BYTES).total(),
        state=ground.commands(ground.state),
        broker=ground.commands(ground.broker),
    )
