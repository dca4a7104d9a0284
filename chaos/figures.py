"""What a run came to: counts of all that happened, as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from chaos.evidence import Evidence
from chaos.fault import Group
from chaos.faults import BY_NAME
from chaos.laws import paid
from chaos.outages import Outages, outages
from chaos.recovery import Spread, by_fault, recoveries

_REFUSED = frozenset({"fenced", "superseded", "replaced"})


@dataclass(frozen=True)
class Figures:
    """All figures of a run.

    `faults` counts by name. `put_back`: jobs that came back after a lost lease. `refused`: attempts that were
    not to publish any more, by reason. `paid_again`: calls for text that had been paid for, and `tokens` of
    these. `alone`: servers' faults with nothing beside them, `late`: those of them after which jobs did not
    flow as soon as promised.
    """

    faults: Mapping[str, int]
    turns: int
    degraded: int
    swaps: int
    published: int
    attempts: Mapping[str, int]
    put_back: int
    refused: Mapping[str, int]
    calls: int
    paid_again: int
    tokens: int
    recovery: Mapping[str, Spread]
    alone: int
    late: int
    store_away: Outages
    broker_away: Outages

    @property
    def kills(self) -> int:
        """Processes ended or stopped by faults."""
        return sum(times for name, times in self.faults.items() if BY_NAME[name].kills)

    @property
    def restarts(self) -> int:
        """Times that a server was down and started again."""
        return sum(times for name, times in self.faults.items() if BY_NAME[name].restarts)

    def as_json(self) -> dict[str, object]:
        """Return all of it as plain JSON."""
        return {**asdict(self), "kills": self.kills, "restarts": self.restarts}


def figures(found: Evidence) -> Figures:
    """Return the figures of a run."""
    turns = [turn for turns in found.turns.values() for turn in turns]
    ended = Counter(f"{each.outcome}: {each.reason}" for each in found.attempts)
    recovered = recoveries(found)
    alone = [each for each in recovered if each.alone]
    paid_again, tokens = paid.again(found)
    return Figures(
        faults=dict(sorted(Counter(each.planned.name for each in found.happened).items())),
        turns=len(turns),
        degraded=sum(turn.degraded for turn in turns),
        swaps=sum(not swap.again for swaps in found.swaps.values() for _, swap in swaps),
        published=len(found.sightings),
        attempts=dict(sorted(ended.items())),
        put_back=_put_back(found),
        refused=dict(Counter(each.reason for each in found.attempts if each.reason in _REFUSED)),
        calls=len(found.calls),
        paid_again=paid_again,
        tokens=tokens,
        recovery=by_fault(recovered),
        alone=len(alone),
        late=sum(not each.kept for each in alone),
        store_away=outages(found, Group.STORE),
        broker_away=outages(found, Group.BROKER),
    )


def _put_back(found: Evidence) -> int:
    """Count the times that jobs came back, as far as one of their later attempts told of its end."""
    latest: dict[tuple[str, str, int], int] = {}
    for each in found.attempts:
        job = (each.session, each.job, each.epoch)
        latest[job] = max(latest.get(job, 0), each.number)
    return sum(latest.values())
