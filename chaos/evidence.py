"""What is known of a run when it is over: from the hosts' journals, the store, the stand-in and the logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from chaos.fault import Planned
from chaos.journal import Raised, Swap, Turn


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time by the machine's monotonic clock and by its wall clock, in seconds."""

    clock: float
    wall: float


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault that was applied and undone."""

    planned: Planned
    began: Moment
    ended: Moment


@dataclass(frozen=True, slots=True)
class Sighting:
    """A version that the store held: first seen `at` (monotonic); it came after `since`, the look before."""

    session: str
    incarnation: str
    version: int
    body: str
    since: float
    at: float


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the model: of which session, about which text, whether that is a chunk, how it ended.

    Times are of the wall clock; `ended` is 0 for one that has not. `tokens` are those paid for.
    """

    session: str
    transcript: str
    chunk: bool
    at: float
    ended: float
    outcome: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt whose end a worker wrote into its log. Times are of the wall clock."""

    session: str
    job: str
    epoch: int
    number: int
    outcome: str
    reason: str
    began: float
    ended: float


@dataclass(frozen=True)
class Evidence:
    """All of it. `calm` is when (monotonic) the last fault was over.

    `untidy` are keys of the store that never run out, `restless` says what had not come to rest in time,
    `surprises` which processes ended by themselves.
    """

    sessions: Sequence[str]
    calm: float
    entries: Sequence[Turn | Raised]
    happened: Sequence[Happened] = ()
    sightings: Sequence[Sighting] = ()
    calls: Sequence[Call] = ()
    attempts: Sequence[Attempt] = ()
    untidy: Sequence[str] = ()
    restless: Sequence[str] = ()
    surprises: Sequence[str] = ()

    @cached_property
    def turns(self) -> Mapping[str, Sequence[Turn]]:
        """The turns of each session, in order."""
        return by_session(entry for entry in self.entries if isinstance(entry, Turn))

    @cached_property
    def raised(self) -> Sequence[Raised]:
        """What turns raised."""
        return [entry for entry in self.entries if isinstance(entry, Raised)]

    @cached_property
    def swaps(self) -> Mapping[str, Sequence[tuple[Turn, Swap]]]:
        """The swaps of each session, each with its turn, in order."""
        return {
            session: [(turn, turn.swap) for turn in turns if turn.swap is not None]
            for session, turns in self.turns.items()
        }


def by_session(turns: Iterable[Turn]) -> dict[str, list[Turn]]:
    """Return turns sorted into sessions, in their order."""
    found = defaultdict[str, list[Turn]](list)
    for turn in turns:
        found[turn.session].append(turn)
    return dict(found)
