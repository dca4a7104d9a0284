"""A job that has come half way: some calls never come back, what the others brought is memoised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from ebbtide import Session
from ebbtide_core.contract.record import SummaryRecord
from tests.processes.asked import Call, calls, maps, settled
from tests.processes.ground import LEASE, Ground
from tests.processes.talk import MODEL, TENANT, WINDOW, chat, name, named_in, names
from tests.processes.workers import Worker
from tests.standin import Behaviour, Kind, Rate, Settings
from tests.waiting import wait_until

SESSION: Final = "a"
MESSAGES: Final = chat(SESSION, 51)
"""A buffer between the watermarks."""

IN_FLIGHT: Final = (name(SESSION, 6), name(SESSION, 14), name(SESSION, 22))
"""What is shown in three of the eight calls that a job has side by side."""

WITHIN: Final = 10 * 2 * LEASE
"""Ten times the two leases that are promised: a bound against hanging, not a measurement."""


@dataclass(frozen=True)
class Halfway:
    """A session's first job. `holder` is the worker in it, `before` are all calls so far."""

    ground: Ground
    session: Session
    holder: Worker
    other: Worker
    before: list[Call]

    @property
    def lost(self) -> Counter[tuple[str, ...]]:
        """The chunks whose calls have not come back."""
        return Counter(call.names for call in maps(self.before) if call.outcome == "pending")

    def swapped(self) -> bool:
        """Take a turn; say whether it swapped a version in."""
        return self.session.prepare(MESSAGES, max_tokens=200).swap is not None

    def published(self) -> SummaryRecord:
        """Wait for version 1, and return it once no job is left."""
        wait_until(lambda: self.ground.record(SESSION, 1) is not None, "version 1 is published", WITHIN)
        wait_until(self.ground.idle, "the job is over")
        record = self.ground.record(SESSION, 1)
        assert record is not None
        return record

    def check_paid_once(self) -> None:
        """Each chunk was asked for once, but those that were lost, for which the other worker asked again."""
        found = settled(self.ground.standin)
        asked = {
            worker.name: Counter(call.names for call in maps(found) if call.worker == worker.name)
            for worker in (self.holder, self.other)
        }
        assert asked[self.holder.name] == Counter(call.names for call in maps(self.before))
        assert set(asked[self.holder.name].values()) == {1}
        assert asked[self.other.name] == self.lost
        merges = [call.worker for call in found if call.merge and call.outcome == "good"]
        assert merges == [self.other.name]

    def check_one_version(self, record: SummaryRecord) -> None:
        """There is no other one, and the host swaps it in: the summary names all messages that it stands for,
        and the tail holds the rest.
        """
        assert self.ground.record(SESSION, 2) is None
        turn = self.session.prepare(MESSAGES, max_tokens=200)
        assert turn.swap is not None
        assert (turn.swap.version, turn.swap.position) == (1, record.position)
        stop = record.position.count
        assert set(named_in(turn.buffer[:1])) == set(names(SESSION, 0, stop))
        assert named_in(turn.buffer[1:]) == names(SESSION, stop, len(MESSAGES))


def halfway(ground: Ground, hanging: tuple[str, ...]) -> Halfway:
    """Have a job begun in which the calls with these texts never come back. Calls made from now on do."""
    rates = tuple(Rate(share=1, behaviour=Behaviour(kind=Kind.HANG, when=text)) for text in hanging)
    ground.standin.control.set(Settings(rates=rates))
    session = ground.pool.session(tenant=TENANT, session_id=SESSION, model=MODEL, context_window=WINDOW)
    session.prepare(MESSAGES, max_tokens=200)
    assert ground.pool.flush(30)
    wait_until(lambda: _has_come_half_way(ground, len(hanging)), "the job hangs", 60)
    ground.standin.control.set(Settings(rates=()))
    before = calls(ground.standin)
    return Halfway(ground, session, *ground.maker(before[0]), before)


def _has_come_half_way(ground: Ground, hanging: int) -> bool:
    """All messages of the job were shown, only the hanging calls are open, what was answered is memoised."""
    found = calls(ground.standin)
    shown = [name for call in maps(found) for name in call.names]
    answered = [call for call in maps(found) if call.outcome == "good"]
    pending = [call for call in found if call.outcome == "pending"]
    whole = 0 < ground.claimed(SESSION) == len(shown)
    return whole and len(pending) == hanging and ground.memos() == len(answered)
