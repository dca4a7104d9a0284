"""What the state store says of all sessions once the load is over: what became of every job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ebbtide_core.names import Owner
from ebbtide_core.store import session_calls, tally_calls
from ebbtide_core.store.client import SyncStore


@dataclass
class Ended:
    """Jobs put into the index, versions published, other ends of jobs by name, claims left open."""

    enqueued: int = 0
    versions: int = 0
    others: Counter[str] = field(default_factory=Counter)
    open_claims: int = 0

    @property
    def lost(self) -> int:
        """Jobs of which nobody can say how they ended."""
        return self.enqueued - self.versions - self.others.total()


def ended(store: SyncStore, owners: Iterable[Owner]) -> Ended:
    """Read what became of the jobs of these sessions."""
    found = Ended()
    for owner in owners:
        look = store.run(session_calls.look(owner))
        if look is None:
            continue
        found.versions += look.view.newest.number
        found.open_claims += look.view.claim is not None
        told = store.run(tally_calls.tally(owner))
        found.enqueued += told.pop(tally_calls.ENQUEUED, 0)
        found.others.update(told)
    return found
