"""How fast jobs could be if nothing but the calls took time."""

from __future__ import annotations

from collections.abc import Sequence


def rounds(jobs: int, chunks: int, *, in_flight: int, per_job: int) -> int:
    """Return after how many calls' time the last job ends, when jobs are served in their order.

    Each job makes a call a chunk, `per_job` of them side by side, and one more that merges once they have all
    ended. `in_flight` calls run at any time as far as there are any that may begin.
    """
    left = [chunks] * jobs
    merged = [False] * jobs
    number = 0
    while not all(merged):
        number += 1
        free = in_flight
        for job, maps in enumerate(_wanted(left, merged, per_job)):
            begun = min(maps, free)
            free -= begun
            if begun and not left[job]:
                merged[job] = True
            left[job] = max(0, left[job] - begun)
    return number


def _wanted(left: Sequence[int], merged: Sequence[bool], per_job: int) -> list[int]:
    """Return how many calls each job could begin now: its chunks first, then its merge."""
    return [min(n, per_job) if n else int(not done) for n, done in zip(left, merged, strict=True)]
