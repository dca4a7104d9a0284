"""Figures of repeated measurements: median and tail."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from statistics import median

__all__ = ["median", "percentile", "repeated", "timed"]


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the smallest sample that `share` (0 to 1) of all samples do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that one call took."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def repeated(work: Callable[[], object], times: int) -> list[float]:
    """Return the seconds of each of several calls in a row."""
    return [timed(work) for _ in range(times)]
