"""What befalls whom and when: a pure function of the seed, the seconds and the size of the fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, takewhile
from random import Random
from typing import Final

from chaos.fault import Fault, Group, Planned

CYCLE: Final = 75.0
"""Seconds after which it all begins anew: first one fault of a server alone, then many together."""

ALONE: Final = 8.0
"""Where in a cycle the fault of a server comes: long after the last storm, when all is well."""

STORM: Final = (26.0, 62.0)
"""Where in a cycle the other faults begin, and where they are over: the server has recovered before."""

GAP: Final = 2.0
"""Seconds from one fault of a storm to the next, on average."""

REST: Final = {
    Group.WORKER: 2.0,
    Group.HOST: 3.0,
    Group.STORE: 6.0,
    Group.BROKER: 6.0,
    Group.PROVIDER: 2.0,
}
"""Seconds that a target is left alone after a fault."""

Targets = Mapping[Group, Sequence[str]]


def schedule(seed: int, seconds: float, faults: Sequence[Fault], targets: Targets) -> tuple[Planned, ...]:
    """Return the faults in the order in which they begin; all are over after `seconds`.

    A target has one fault at a time, different targets may have theirs together. No kind of fault comes again
    before every other one has come as often as its weight says, as far as targets are free.
    """
    chance = Random(f"chaos {seed}")
    single, many = _Bag(chance, [fault for fault in faults if fault.away]), _Bag(chance, faults)
    found: list[Planned] = []
    for begin in takewhile(lambda begin: begin < seconds, count(0.0, CYCLE)):
        found += single.drawn(begin + ALONE, seconds, targets, alone=True)
        found += _storm(chance, begin, seconds, many, targets)
    return tuple(found)


def _storm(chance: Random, begin: float, seconds: float, bag: _Bag, targets: Targets) -> Iterator[Planned]:
    free = dict.fromkeys((name for names in targets.values() for name in names), 0.0)
    at, end = begin + STORM[0], min(begin + STORM[1], seconds)
    while (at := at + chance.expovariate(1 / GAP)) < end:
        idle = {group: [n for n in names if free[n] <= at] for group, names in targets.items()}
        for planned in bag.drawn(at, end, idle):
            yield planned
            free[planned.target] = planned.at + planned.lasts + REST[planned.group]


class _Bag:
    """Faults in an order that chance decides, each as often as its weight says; then anew."""

    def __init__(self, chance: Random, faults: Sequence[Fault]) -> None:
        self._chance = chance
        self._faults = faults
        self._left: list[Fault] = []

    def drawn(self, at: float, end: float, idle: Targets, *, alone: bool = False) -> Iterator[Planned]:
        """Yield the next fault whose target is idle, over by the end; none when there is none."""
        if not self._left:
            self._left = [fault for fault in self._faults for _ in range(fault.weight)]
            self._chance.shuffle(self._left)
        fault = next((fault for fault in self._left if idle[fault.group]), None)
        if fault is not None and at < end:
            self._left.remove(fault)
            target = self._chance.choice(idle[fault.group])
            lasts, amount = self._chance.uniform(fault.least, fault.most), self._chance.random()
            yield Planned(at, fault.name, fault.group, target, min(lasts, end - at), amount, alone)
