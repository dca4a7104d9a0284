"""Each checker, shown one wrong implementation, fails: else it would prove nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from redis.exceptions import ResponseError

from ebbtide_core.names import Owner
from tests.protocol import invariants, mutants, schedules
from tests.protocol.hosts import Host
from tests.protocol.invariants import Violation
from tests.protocol.model_fleet import FleetModel
from tests.protocol.model_session import SessionModel
from tests.protocol.quiet import quiet_phase
from tests.protocol.stores import PRELUDE, Disagreement, ModelStore, PairedStore
from tests.protocol.workers import Worker
from tests.protocol.world import World
from tests.store.clock import Database

Play = Callable[[World], None]


@dataclass(frozen=True)
class Fault:
    """A wrong implementation, the law it breaks, the schedule that shows it; then host `i` goes on alone."""

    law: str
    play: Play
    i: int = 0
    session: type[SessionModel] = SessionModel
    fleet: type[FleetModel] = FleetModel
    host: type[Host] = Host
    worker: type[Worker] = Worker
    slow: bool = False

    @property
    def is_of_the_store(self) -> bool:
        """Are the rules of the scripts wrong?"""
        return self.session is not SessionModel or self.fleet is not FleetModel

    def __str__(self) -> str:
        parts = (self.session, self.fleet, self.host, self.worker)
        wrong = [part.__name__ for part in parts if part.__module__ == mutants.__name__]
        return "-".join([self.law.replace(" ", ""), *wrong])


def withdrawn(world: World) -> None:
    """A record is withdrawn."""
    schedules.published(world, 1)
    world.withdraw()


def large_job(world: World) -> None:
    """A job of several chunks is published."""
    schedules.published(world, 1, 20)


FAULTS = [
    Fault("law 1", partial(schedules.published, i=1), 1, host=mutants.SwapsTooMuch),
    Fault("law 2", large_job, 1, worker=mutants.DropsLastChunk),
    Fault("law 3", schedules.edit_below_record, host=mutants.SwapsByCount),
    Fault("law 3", schedules.newest_is_not_best, host=mutants.LooksAtNewest),
    Fault("law 7", schedules.late_publish_first, 1, session=mutants.PublishesAfterAnything),
    Fault("law 7", schedules.number_with_another_body, session=mutants.PublishesAfterNumber),
    Fault("law 7", schedules.record_between_turn_and_claim, 1, session=mutants.PublishesBehind),
    Fault("law 7", withdrawn, 1, session=mutants.EditsRecords),
    Fault("law 8", schedules.published_and_superseded, 1, session=mutants.RefusesLoudly),
    Fault("holder", schedules.late_failures, 1, session=mutants.HearsAnyone),
    Fault("handed", schedules.handed_back, 1, fleet=mutants.KeepsAttemptNumber),
    Fault("payers", schedules.claimed_again_after_stall, 1, session=mutants.RestartsEpochs),
    Fault("payers", schedules.published_and_going_on, 1, worker=mutants.NeverAsksAgain),
    Fault("liveness", schedules.breaker_opens, session=mutants.NeverHalfOpen),
    Fault("liveness", schedules.claim_without_job, session=mutants.ClaimsForEver),
    Fault("liveness", schedules.probe_lost_to_fork, session=mutants.KeepsProbe),
    Fault("liveness", schedules.edit_below_record, host=mutants.FollowsItsBase),
    Fault("liveness", schedules.edit_below_record, host=mutants.ForksOnOldRecords, slow=True),
    Fault("liveness", schedules.rewind_below_record, host=mutants.NeverForksBehind),
    Fault("liveness", schedules.record_without_body, 1, host=mutants.WaitsForLostBody),
    Fault("liveness", schedules.base_without_record, 1, worker=mutants.NeedsBaseRecord),
    Fault("liveness", schedules.bad_memo, worker=mutants.KeepsBadMemos),
]


def play(fault: Fault, world: World) -> None:
    """Play the fault's schedule, then let its host go on."""
    fault.play(world)
    quiet_phase(world, fault.i, slow=fault.slow)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_wrong_implementation_is_found(fault: Fault) -> None:
    """The schedule breaks the law with the fault in it, and keeps it without."""
    store = ModelStore(session_model=fault.session, fleet_model=fault.fleet)
    with pytest.raises(Violation) as found:
        play(fault, World(store, host=fault.host, worker=fault.worker))
    assert found.value.law == fault.law
    play(fault, World(ModelStore()))


@pytest.mark.parametrize("wrong", [fault for fault in FAULTS if fault.is_of_the_store], ids=str)
def test_the_real_store_disagrees_with_a_wrong_model(
    wrong: Fault, fresh_pair: Callable[[], PairedStore]
) -> None:
    """The comparison tells the Lua from each wrong set of rules, on the same schedule."""
    paired = fresh_pair()
    paired.model = ModelStore(paired.model.clock, wrong.session, wrong.fleet)
    with pytest.raises(Disagreement):
        play(wrong, World(paired))


@pytest.mark.parametrize("key", ["ebbtide:1:{s:a:b}:state", "ebbtide:1:state"], ids=["immortal", "untagged"])
def test_untidy_keys_are_found(key: str, paired: PairedStore) -> None:
    """A key without TTL, or without an owner, breaks law 12."""
    invariants.keys_are_tidy(paired.lifetimes())
    paired.database.set(key, "x", px=None if "{" in key else 60_000)
    with pytest.raises(Violation, match="law 12"):
        invariants.keys_are_tidy(paired.lifetimes())
    paired.database.delete(key)


def test_undeclared_keys_are_found(database: Database) -> None:
    """A script that touches a key it was not given fails."""
    wrong = f"{PRELUDE}\nreturn redis.call('SET', 'ebbtide:1:{{t:x}}:memo:1', 'y')"
    with pytest.raises(ResponseError, match="undeclared key"):
        database.eval(wrong, 0)


def test_joined_names_are_found() -> None:
    """A store that joins tenant and session by a colon lets one tenant change another's state."""
    store = mutants.JoinsNames()
    bystander = World(store, owner=Owner("a", "b:c"))
    schedules.claim_without_job(bystander)
    before = bystander.state
    schedules.published(World(store), 1)
    with pytest.raises(Violation, match="law 13"):
        invariants.bystander_untouched(before, bystander.state)
