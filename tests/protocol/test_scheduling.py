"""Who is served when, on the real scripts: fairness among tenants and sessions, caps, urgency, permits."""

from __future__ import annotations

import random
from statistics import median
from typing import Final

import pytest

from ebbtide_core.contract.job import Urgency
from ebbtide_core.names import Owner
from ebbtide_core.store import fleet_calls
from ebbtide_core.store.fleet_calls import MAX_ATTEMPTS
from tests.protocol.ground import TICK
from tests.protocol.mutants import KeepsItsTurn, ServesInOrder
from tests.protocol.simulation import Simulation
from tests.protocol.stores import ModelStore, PairedStore, RealStore, Runs

SESSION = Owner("acme", "chat")
LARGE: Final = 200
SMALL: Final = (4, 5)
"""Jobs of the large tenant; how many small ones there are, and jobs of each."""


def crowded(fleet: Simulation, *, sessions: int, seconds: int) -> list[int]:
    """Let more sessions than can be served ask again and again; return how often each was served."""
    owners = {Owner("t", f"s{i}"): 7 + i % 5 for i in range(sessions)}
    for second in range(1, seconds + 1):
        for owner, period in owners.items():
            if second % period == 0 and not fleet.busy(owner):
                fleet.enqueue(owner)
        fleet.second()
    return sorted(fleet.served[owner] for owner in owners)


def test_tenants_take_turns(real: RealStore) -> None:
    """Twenty small tenants are served among the first jobs of one that has two hundred waiting."""
    fleet = Simulation(real, workers=4)
    for i in range(200):
        fleet.enqueue(Owner("big", f"s{i}"), Urgency.HI)
    small = [Owner(f"small{i}", "s") for i in range(20)]
    for owner in small:
        fleet.enqueue(owner)
    while not all(fleet.served[owner] for owner in small):
        fleet.second()
    assert sum(fleet.served.values()) <= 21 + fleet.workers


def draw_of_names(seed: int) -> list[str]:
    """Return names for tenants, in an order that says nothing."""
    draw = random.Random(seed)
    return [f"{draw.getrandbits(64):016x}" for _ in range(1 + SMALL[0])]


def beside_a_large_tenant(
    store: Runs, names: list[str], cap: int | None = None
) -> tuple[Simulation, list[int]]:
    """Serve a large tenant's jobs and those of small ones that came after it, with four slots; return the
    fleet and the places, from 1, that the small tenants' jobs were given in.
    """
    fleet = Simulation(store, workers=4, job_seconds=1, cap=cap)
    large, *small = names
    for i in range(LARGE):
        fleet.enqueue(Owner(large, f"s{i}"))
    for name in small:
        for i in range(SMALL[1]):
            fleet.enqueue(Owner(name, f"s{i}"))
    while len(fleet.given) < LARGE + SMALL[0] * SMALL[1] or any(fleet.slots):
        fleet.second()
    assert not fleet.dropped
    return fleet, [rank for rank, owner in enumerate(fleet.given, 1) if owner.tenant != large]


def small_tenants_are_served_early(store: Runs, seed: int, cap: int | None) -> None:
    """Of 220 jobs the median of the small tenants' comes 16th at most, the last one 32nd; workers ask no more
    often than a job ends or a permit comes.
    """
    fleet, ranks = beside_a_large_tenant(store, draw_of_names(seed), cap)
    jobs = LARGE + SMALL[0] * SMALL[1]
    assert sum(fleet.served.values()) == jobs
    assert median(ranks) <= 16
    assert max(ranks) <= 32
    assert fleet.takes <= 2 * jobs + fleet.permits_of_ticks
    assert fleet.permits_of_ticks <= fleet.workers * fleet.now / TICK


@pytest.mark.parametrize("cap", [None, 2])
def test_small_tenants_are_served_early(cap: int | None) -> None:
    """Whatever the names, drawn twenty times, and also when each tenant has a cap."""
    for seed in range(20):
        small_tenants_are_served_early(ModelStore(), seed, cap)


@pytest.mark.parametrize("cap", [None, 2])
def test_small_tenants_are_served_early_by_the_real_store(real: RealStore, cap: int | None) -> None:
    """The scripts do what the model does over the whole of one draw."""
    small_tenants_are_served_early(real, 20, cap)


def test_a_large_tenant_in_front_is_seen() -> None:
    """The figures above fail where a tenant is served until it has nothing left."""
    _, ranks = beside_a_large_tenant(ModelStore(fleet_model=KeepsItsTurn), draw_of_names(0))
    assert median(ranks) > LARGE


def test_workers_ask_for_a_capped_tenant_once_a_permit(real: RealStore) -> None:
    """Slots that may not work on a tenant stay still: they ask when a job ends or a permit comes, no more."""
    fleet = Simulation(real, workers=4, job_seconds=20, cap=1)
    for i in range(4):
        fleet.enqueue(Owner("only", f"s{i}"))
    for _ in range(70):
        fleet.second()
        assert fleet.running()["only"] <= 1
    ended = sum(fleet.served.values())
    assert ended == 3
    assert fleet.takes <= 4 + ended + fleet.permits_of_ticks
    assert fleet.permits_of_ticks <= 3 * fleet.now / TICK


def test_a_tenant_at_its_cap_is_skipped(real: RealStore) -> None:
    """At most two jobs of the large tenant run at once; the slots it may not have go to the others."""
    fleet = Simulation(real, workers=4, cap=2)
    for i in range(40):
        fleet.enqueue(Owner("big", f"s{i}"), Urgency.HI)
    for i in range(10):
        fleet.enqueue(Owner("small", f"s{i}"))
    most = 0
    for _ in range(60):
        fleet.second()
        most = max(most, fleet.running()["big"])
    assert most == 2
    assert sum(fleet.served[Owner("small", f"s{i}")] for i in range(10)) == 10


def test_sessions_of_a_tenant_take_turns(real: RealStore) -> None:
    """Of sixty sessions that want far more than one worker can do, each is served as often as the others."""
    served = crowded(Simulation(real, job_seconds=6), sessions=60, seconds=1_500)
    assert served[-1] - served[0] <= 2
    assert served[0] >= 3


def test_serving_in_order_starves_sessions() -> None:
    """In the order of enqueueing, the same crowd leaves some out for good: the check above can fail."""
    served = crowded(
        Simulation(ModelStore(fleet_model=ServesInOrder), job_seconds=6), sessions=60, seconds=1_500
    )
    assert served[0] == 0


@pytest.mark.parametrize("raised", [True, False])
def test_raised_job_overtakes(real: RealStore, raised: bool) -> None:
    """A queued `lo` job in a tenant full of `hi` jobs is served soon once raised, and dropped if not."""
    fleet = Simulation(real)
    for second in range(150):
        if second % 5 == 0:
            fleet.enqueue(Owner("acme", f"h{second}"), Urgency.HI)
        if second == 10:
            fleet.enqueue(SESSION)
        if second == 20 and raised:
            real.run(fleet_calls.raise_urgency, SESSION)
        fleet.second()
    assert bool(fleet.served[SESSION]) is raised
    assert bool(fleet.dropped[SESSION]) is not raised
    assert not raised or fleet.first_served[SESSION] <= 40


def test_poison_job_costs_three_workers(paired: PairedStore) -> None:
    """A job that kills its worker is given up after its third lease, and others are served meanwhile."""
    poison, good = Owner("t", "poison"), Owner("u", "good")
    fleet = Simulation(paired, workers=2, poison=frozenset({poison}))
    fleet.enqueue(poison)
    for _ in range(150):
        if not fleet.busy(good):
            fleet.enqueue(good)
        fleet.second()
    assert fleet.deaths == MAX_ATTEMPTS
    assert fleet.failures == {poison: 1}
    assert not fleet.busy(poison)
    assert fleet.served[good] >= 20


def test_lost_permit_is_sent_again(paired: PairedStore) -> None:
    """A job whose permit is lost is served after two ticks at most."""
    fleet = Simulation(paired)
    fleet.enqueue(SESSION)
    fleet.permits = 0
    for _ in range(20):
        fleet.second()
    assert fleet.first_served[SESSION] <= 10 + fleet.job_seconds + 1


def test_surplus_permits_serve_nothing_twice(paired: PairedStore) -> None:
    """Permits that come twice find an empty index; each job is served once."""
    fleet = Simulation(paired, workers=3)
    owners = [Owner("t", f"s{i}") for i in range(6)]
    for owner in owners:
        fleet.enqueue(owner)
    fleet.permits *= 10
    for _ in range(40):
        fleet.second()
    assert fleet.served == dict.fromkeys(owners, 1)
    assert paired.index().load == {}


def test_a_slow_job_keeps_its_lease(paired: PairedStore) -> None:
    """A job longer than the running lease is served once, by one worker, as long as that renews."""
    fleet = Simulation(paired, workers=2, job_seconds=90)
    fleet.enqueue(SESSION)
    for _ in range(100):
        fleet.second()
    assert (fleet.served[SESSION], len(fleet.waits)) == (1, 1)
