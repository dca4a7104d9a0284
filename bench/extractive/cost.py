"""CPU seconds of pieces of work: the best of several rounds in which rivals take turns."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds, of all threads, that one call took."""
    began = time.process_time()
    work()
    return time.process_time() - began


def least(rivals: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return each rival's least CPU seconds a call: the one to which other processes added least."""
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(rounds):
        for name, work in rivals.items():
            gc.collect()
            best[name] = min(best[name], cpu(work))
    return best
