"""What all sessions came to: sums by window and way, and how cost-aware swaps stand against the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ebbtide_cli.cost.play import Outcome
from ebbtide_cli.cost.ways import COMPACTING, Outcomes, Way
from ebbtide_core.economy.bill import Bill

NEAR: Final = 1.10
"""What counts as near the best: at most a tenth above it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Cost-aware swaps beside the cheapest compacting way of each session.

    `worst` is the session with the highest ratio, "" without sessions; `near` the share of sessions that cost
    at most a tenth more than the cheapest.
    """

    worst: str
    ratio: float
    near: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """All sessions under all ways, with one window; `outgrown` are the sums of those that outgrow it."""

    window: int
    sums: Mapping[Way, Outcome]
    outgrown: Mapping[Way, Outcome]
    sessions: int
    long_sessions: int
    verdict: Verdict


def compared(sessions: Sequence[tuple[str, Outcomes]], window: int) -> Comparison:
    """Return the comparison of sessions (id, outcomes) for a window."""
    outgrown = [one for one in sessions if one[1][window, Way.NEVER].over]
    return Comparison(
        window=window,
        sums=_sums(sessions, window),
        outgrown=_sums(outgrown, window),
        sessions=len(sessions),
        long_sessions=len(outgrown),
        verdict=_verdict({name: _ratio(found, window) for name, found in sessions}),
    )


def _sums(sessions: Sequence[tuple[str, Outcomes]], window: int) -> dict[Way, Outcome]:
    return {way: sum((found[window, way] for _, found in sessions), Outcome()) for way in Way}


def _ratio(found: Outcomes, window: int) -> float:
    best = min(found[window, way].dollars for way in COMPACTING)
    return found[window, Way.COST_AWARE].dollars / best if best else 1.0


def _verdict(ratios: Mapping[str, float]) -> Verdict:
    if not ratios:
        return Verdict("", 1.0, 1.0)
    worst = max(ratios, key=ratios.__getitem__)
    return Verdict(worst, ratios[worst], sum(r <= NEAR for r in ratios.values()) / len(ratios))


def comparison_json(one: Comparison) -> dict[str, Any]:
    """Return the comparison as it stands in the file of `--json`."""
    return {
        "context_window": one.window,
        "sessions": one.sessions,
        "sessions_over_window": one.long_sessions,
        "all": {way.value: outcome_json(found) for way, found in one.sums.items()},
        "over_window": {way.value: outcome_json(found) for way, found in one.outgrown.items()},
        "cost_aware": {
            "worst_session": one.verdict.worst,
            "worst_ratio": round(one.verdict.ratio, 4),
            "share_within_10_percent": round(one.verdict.near, 4),
        },
    }


def outcome_json(one: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON: dollars and tokens."""
    return {
        "dollars": round(one.dollars, 6),
        "cached": _bill_json(one.cached),
        "uncached": _bill_json(one.uncached),
        "summariser": _bill_json(one.summariser),
        "turns": one.turns,
        "compactions": one.compactions,
        "turns_that_waited": one.waits,
        "requests_over_window": one.over,
    }


def _bill_json(one: Bill) -> dict[str, Any]:
    return {
        "dollars": round(one.dollars, 6),
        "input_tokens": one.input,
        "cache_write_tokens": one.written,
        "cache_read_tokens": one.read,
        "output_tokens": one.output,
    }
