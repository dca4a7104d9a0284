"""Hosts, workers and faults in any order: the laws hold, store and model agree, the session lives on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from ebbtide_core.breaker import Outcome
from ebbtide_core.names import Owner
from tests.protocol import invariants, schedules
from tests.protocol.machine import check
from tests.protocol.quiet import quiet_phase
from tests.protocol.stores import ModelStore, PairedStore
from tests.protocol.world import RAW_HOSTS, World

BYSTANDER: Final = Owner("a", "b:c")
"""Another tenant's session: its names, joined by a colon, are those of the session under test."""

BEGINNINGS: Final = (schedules.next_job_queued, schedules.above_soft, schedules.nothing_yet)

hosts = st.sampled_from([1, 1, 0, 2])
workers = st.sampled_from([0, 0, 1, 2])
outcomes = st.sampled_from([*[Outcome.SUCCESS] * 3, Outcome.FAILURE, Outcome.NEUTRAL])
mostly = st.sampled_from([True, True, True, False])


class Schedule(RuleBasedStateMachine):
    """Any schedule of actions, then a quiet phase for each host."""

    make_world: Callable[[], World]

    def __init__(self) -> None:
        super().__init__()
        self.world = type(self).make_world()
        self.bystander = World(self.world.store, owner=BYSTANDER)
        schedules.claim_without_job(self.bystander)
        self.untouched = self.bystander.state
        self.slow = False

    @initialize(slow=st.booleans(), prefix=st.sampled_from(BEGINNINGS))
    def begin(self, slow: bool, prefix: Callable[[World], None]) -> None:
        self.slow = slow
        prefix(self.world)

    @rule(i=hosts, messages=st.sampled_from([1, 3, 8, 30]))
    def grow(self, i: int, messages: int) -> None:
        self.world.grow(i, messages)

    @rule(i=hosts)
    def say_much(self, i: int) -> None:
        self.world.say(i, 3)

    @rule(i=hosts, back=st.sampled_from([0, 2, 4, 8, 30]), cut=st.booleans())
    def edit(self, i: int, back: int, cut: bool) -> None:
        self.world.edit(i, back, cut=cut)

    @rule(i=hosts)
    def host(self, i: int) -> None:
        self.world.host(i)

    @rule(i=hosts, swaps=mostly)
    def turn(self, i: int, swaps: bool) -> None:
        self.world.turn(i, swaps=swaps)

    @rule(i=hosts, part=st.sampled_from(["claim", "claim", "upload", "enqueue", "confirm"]))
    def after_turn(self, i: int, part: str) -> None:
        getattr(self.world, part)(i)

    @rule(i=hosts, k=workers, outcome=outcomes, good=mostly)
    def round(self, i: int, k: int, outcome: Outcome, good: bool) -> None:
        self.world.round(i, k, outcome, good=good)

    @rule(i=hosts, k=workers)
    def taken(self, i: int, k: int) -> None:
        schedules.taken(self.world, i, k)

    @rule(i=hosts, old=st.booleans())
    def restart(self, i: int, old: bool) -> None:
        self.world.restart(i, old=old)

    @rule(i=hosts)
    def save(self, i: int) -> None:
        self.world.save(i)

    @rule(i=hosts, other=hosts)
    def catch_up(self, i: int, other: int) -> None:
        self.world.catch_up(i, other)

    @rule(i=hosts, other=hosts)
    def take_over(self, i: int, other: int) -> None:
        self.world.take_over(i, other)

    @rule(k=workers)
    def work(self, k: int) -> None:
        self.world.work(k)

    @rule(k=workers, part=st.sampled_from(["take", "guard", "renew", "publish", "crash"]))
    def worker_part(self, k: int, part: str) -> None:
        getattr(self.world, part)(k)

    @rule(k=workers, part=st.sampled_from(["hand_back", "late"]))
    def worker_stops(self, k: int, part: str) -> None:
        getattr(self.world, part)(k)

    @rule(k=workers, good=mostly)
    def pay(self, k: int, good: bool) -> None:
        self.world.pay(k, good=good)

    @rule(k=workers, outcome=outcomes)
    def finish(self, k: int, outcome: Outcome) -> None:
        self.world.finish(k, outcome)

    @rule()
    def tick(self) -> None:
        self.world.tick()

    @rule(seconds=st.sampled_from([10, 40, 50, 130, -20]))
    def time(self, seconds: int) -> None:
        self.world.time(seconds)

    @rule(part=st.sampled_from(["reset", "cancel", "withdraw", "permits_lost", "permit_surplus"]))
    def around(self, part: str) -> None:
        getattr(self.world, part)()

    @rule(part=st.sampled_from(["snapshot", "lose_all", "lose_state", "lose_index", "lose_records"]))
    def loss(self, part: str) -> None:
        getattr(self.world, part)()

    @rule(session=st.booleans(), index=st.booleans())
    def roll_back(self, session: bool, index: bool) -> None:
        self.world.roll_back(session=session, index=index)

    def teardown(self) -> None:
        store = self.world.store
        model = store.model if isinstance(store, PairedStore) else store
        assert isinstance(model, ModelStore)
        for i in range(len(RAW_HOSTS)):
            quiet_phase(self.world.on(model), i, slow=self.slow)
        if isinstance(store, PairedStore):
            quiet_phase(self.world, 1, slow=self.slow)
            invariants.keys_are_tidy(store.lifetimes())
        invariants.bystander_untouched(self.untouched, self.bystander.state)


def machine(make_world: Callable[[], World]) -> type[Schedule]:
    """Return the machine that plays in worlds made one by one."""
    return type("BoundSchedule", (Schedule,), {"make_world": staticmethod(make_world)})


def test_any_schedule_on_the_model_keeps_the_laws() -> None:
    """Every law holds at every step of any schedule, and each host gets its records afterwards."""
    check(machine(lambda: World(ModelStore())), examples=80)


def test_any_schedule_on_the_real_store_does_what_the_model_does(
    fresh_pair: Callable[[], PairedStore],
) -> None:
    """Each script answers what the model answers, and leaves behind the same state, at every step."""
    check(machine(lambda: World(fresh_pair())), examples=20)
