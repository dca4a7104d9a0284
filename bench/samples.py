"""Figures of repeated measurements: median, tail, and rounds that let rivals take turns."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

__all__ = ["interleaved", "median", "percentile", "repeated", "timed"]


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the smallest sample that `share` (0 to 1) of all samples do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that one call took."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def interleaved(rivals: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return each rival's seconds per call; in every round each is called once, so noise meets all alike."""
    samples: dict[str, list[float]] = {name: [] for name in rivals}
    gc.collect()
    for _ in range(rounds):
        for name, work in rivals.items():
            samples[name].append(timed(work))
    return samples


def repeated(work: Callable[[], object], times: int) -> list[float]:
    """Return the seconds of each of several calls in a row."""
    return [timed(work) for _ in range(times)]
