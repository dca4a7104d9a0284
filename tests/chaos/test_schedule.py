"""The schedule of a run: decided by the seed, and within its bounds."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import pairwise

from chaos.faults import BY_NAME, FAULTS
from chaos.fleet import Size
from chaos.run import planned
from chaos.schedule import REST
from hypothesis import given
from hypothesis import strategies as st

from tests.standin import Kind

SIZE = Size(hosts=4, workers=3)

SLACK = 1e-6
"""Of sums of fractions."""

seeds = st.integers(0, 1 << 32)
lengths = st.floats(10, 700)


@given(seed=seeds, seconds=lengths)
def test_a_seed_replays_its_schedule(seed: int, seconds: float) -> None:
    """Another call gives the same, another seed another one."""
    first = planned(seed, seconds, SIZE)
    assert planned(seed, seconds, SIZE) == first
    assert len(first) < 5 or planned(seed + 1, seconds, SIZE) != first


def test_another_process_plays_the_same_schedule() -> None:
    """Nothing of it depends on the hashes of a process."""
    command = [sys.executable, "-m", "chaos", "--plan", "--seed", "7", "--seconds", "200"]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert runs[0] == runs[1]
    assert len(runs[0].splitlines()) == len(planned(7, 200.0, SIZE))


@given(seed=seeds, seconds=lengths)
def test_all_faults_are_over_in_time_and_none_meets_another_on_its_target(seed: int, seconds: float) -> None:
    """A target is whole for a while between two faults."""
    found = planned(seed, seconds, SIZE)
    assert all(each.at > 0 and each.at + each.lasts <= seconds + SLACK for each in found)
    for group, names in SIZE.targets.items():
        for name in names:
            own = sorted((each for each in found if each.target == name), key=lambda each: each.at)
            assert all(b.at >= a.at + a.lasts + REST[group] - SLACK for a, b in pairwise(own))


@given(seed=seeds)
def test_what_comes_alone_has_nothing_beside_it(seed: int) -> None:
    """A server that is away, with eight seconds before it and ten behind it."""
    found = planned(seed, 600.0, SIZE)
    single = [each for each in found if each.alone]
    assert len(single) == 8
    for one in single:
        assert BY_NAME[one.name].away
        others = (each for each in found if each is not one)
        assert all(o.at + o.lasts < one.at - 8 or o.at > one.at + one.lasts + 10 for o in others)


def test_ten_minutes_of_three_seeds_have_every_kind_of_fault() -> None:
    """Also every one of the stand-in's."""
    found = Counter(each.name for seed in (1, 2, 3) for each in planned(seed, 600.0, SIZE))
    assert set(found) == {fault.name for fault in FAULTS}
    assert {name for name in found if name.startswith("provider")} == {
        f"provider: {kind}" for kind in Kind if kind is not Kind.GOOD
    }
