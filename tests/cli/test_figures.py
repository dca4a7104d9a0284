"""The figures of `--json`: their keys bind, and totals add up."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ebbtide_cli.replay.figures import Figures, stall_ms, total
from ebbtide_cli.replay.report import report
from ebbtide_cli.replay.run import Result
from ebbtide_cli.replay.transcript import Fault, Problem
from tests.cli.figures import FIGURE_KEYS, SESSION_KEYS
from tests.cli.turns import talk, transcript

stalls = st.lists(st.floats(0, 100, allow_subnormal=False), max_size=300).map(tuple)


def test_a_session_has_the_keys_of_the_contract() -> None:
    """Names and order are what readers of the file rely on; totals have the same."""
    problem = Problem("f", 3, Fault.NOT_JSON, "broken")
    result = Result(((transcript(talk(1), id="a"), Figures(turns=1)),), (problem,), Counter({"store: x": 2}))
    document = report(result)
    assert list(document["sessions"][0]) == SESSION_KEYS
    assert list(document["totals"]) == FIGURE_KEYS
    assert document["problems"] == [
        {"file": "f", "line": 3, "kind": "not JSON", "detail": "broken", "count": 1}
    ]
    assert document["faults"] == {"store: x": 2}


def test_totals_sum_counts_and_take_the_highest_peak() -> None:
    """Refusals are summed by reason, and the stall is over all turns."""
    one = Figures(turns=2, peak_projected_tokens=10, rejected=Counter(a=1), stalls=(0.1, 0.2))
    two = Figures(turns=3, peak_projected_tokens=7, rejected=Counter(a=1, b=2), stalls=(0.3,))
    both = total([one, two])
    assert (both.turns, both.peak_projected_tokens) == (5, 10)
    assert both.to_json()["rejected"] == {"a": 2, "b": 2}
    assert both.to_json()["stall_ms"] == {"p50": 200.0, "p99": 300.0, "max": 300.0}
    assert total([]).to_json()["turns"] == 0


@given(stalls)
def test_percentiles_are_values_that_occurred_in_order(values: tuple[float, ...]) -> None:
    """Median, 99th percentile and maximum are ranks: each covers its share of the turns."""
    found = stall_ms(values)
    ordered = sorted(values) or [0.0]
    assert found["max"] == round(ordered[-1] * 1000, 3)
    assert found["p50"] <= found["p99"] <= found["max"]
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        covered = sum(round(v * 1000, 3) <= found[name] for v in ordered)
        assert covered >= math.ceil(share * len(ordered))
