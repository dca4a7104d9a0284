"""What a replay reports of a session, and of all of them together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Figures:
    """The account of one session, or the totals of several.

    Sizes are in the model's tokens. `rejected`: publications refused and summaries failed, by reason.
    `requests_over_window`, `invalid_requests`: turns. `uncovered_messages`: gone from the buffer and in no
    chunk of a record. `declared_omitted_messages`: left out of or shortened in views, summed over turns.
    `stalls`: seconds that each prepare took. `degraded_turns` include the unfittable ones that were degraded.
    `swaps_in_a_row`: swaps on the turn right after another. `small_swaps`: swaps of records that newly
    summarise less than `min_new_tokens`. `pruned_turns`: turns that left a batch of superseded results out.
    """

    turns: int = 0
    messages: int = 0
    peak_projected_tokens: int = 0
    context_window: int = 0
    jobs_enqueued: int = 0
    versions_published: int = 0
    swaps: int = 0
    swaps_in_a_row: int = 0
    small_swaps: int = 0
    pruned_turns: int = 0
    degraded_turns: int = 0
    unfittable_turns: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    requests_over_window: int = 0
    invalid_requests: int = 0
    uncovered_messages: int = 0
    declared_omitted_messages: int = 0
    stalls: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the figures as they stand in the file of `--json`."""
        values: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        values["rejected"] = dict(sorted(self.rejected.items()))
        return {**{name: values[name] for name in _ORDER}, "stall_ms": stall_ms(self.stalls)}


_COUNTS: Final = (
    "turns",
    "messages",
    "jobs_enqueued",
    "versions_published",
    "swaps",
    "swaps_in_a_row",
    "small_swaps",
    "pruned_turns",
    "degraded_turns",
    "unfittable_turns",
    "requests_over_window",
    "invalid_requests",
    "uncovered_messages",
    "declared_omitted_messages",
)
_PLAIN: Final = (*_COUNTS, "peak_projected_tokens", "context_window")
_ORDER: Final = tuple(name for name in Figures.__dataclass_fields__ if name != "stalls")


def total(figures: Iterable[Figures]) -> Figures:
    """Return the totals: counts summed, the highest peak and window, stall over all turns."""
    found = list(figures)
    rejected: Counter[str] = Counter()
    for one in found:
        rejected.update(one.rejected)
    return Figures(
        **{name: sum(getattr(one, name) for one in found) for name in _COUNTS},
        peak_projected_tokens=max((one.peak_projected_tokens for one in found), default=0),
        context_window=max((one.context_window for one in found), default=0),
        rejected=rejected,
        stalls=tuple(s for one in found for s in one.stalls),
    )


def stall_ms(stalls: Sequence[float]) -> dict[str, float]:
    """Return median, 99th percentile (nearest rank) and maximum in milliseconds, all 0 without a turn."""
    ordered = sorted(stalls) or [0.0]

    def at(share: float) -> float:
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)] * 1000, 3)

    return {"p50": at(0.50), "p99": at(0.99), "max": at(1.0)}
