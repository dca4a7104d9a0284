"""What tenants may have and what was paid for them, as it is kept; tests/protocol has the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ebbtide_core import names
from ebbtide_core.contract.tenant import Refusal, TenantPolicy
from ebbtide_core.store import fleet_calls as calls
from ebbtide_core.store.fleet_calls import Paid, Spent
from ebbtide_core.store.results import EnqueueStatus, RenewStatus
from tests.store.fleet import job

if TYPE_CHECKING:
    from tests.store.clock import Clock, Database
    from tests.store.fleet import Fleet

DAY = 86_400
SPENT = names.fleet("spent")


def test_limits_are_put_listed_and_dropped(fleet: Fleet) -> None:
    """A second time is no new one; those for tenants without an entry have no name."""
    run = fleet.store.run
    assert run(calls.tenants()) == ()
    assert run(calls.limits_put("b/ü", TenantPolicy()))
    assert run(calls.limits_put(None, TenantPolicy()))
    assert not run(calls.limits_put("b/ü", TenantPolicy(weight=2)))
    assert run(calls.limits_put("a b", TenantPolicy()))
    assert run(calls.tenants()) == ("a b", "b/ü")
    assert run(calls.limits_drop("a b"))
    assert not run(calls.limits_drop("a b"))
    assert run(calls.limits_drop(None))
    assert run(calls.tenants()) == ("b/ü",)


def test_a_tenant_can_not_name_the_others(fleet: Fleet) -> None:
    """One whose name is the word for all others has limits of its own."""
    fleet.limit("*", max_pending=0)
    assert fleet.refused(job("s", "*")) is Refusal.MAX_PENDING
    assert fleet.put(job("s", "other")) is EnqueueStatus.QUEUED
    assert fleet.store.run(calls.tenants()) == ("*",)


def test_limits_hold_at_once_and_a_tenants_own_go_first(fleet: Fleet) -> None:
    """An entry with no limit frees a tenant from those of the others; without it they hold again."""
    fleet.limit(None, max_pending=0)
    assert fleet.refused(job("s")) is Refusal.MAX_PENDING
    fleet.limit("acme")
    assert fleet.put(job("s")) is EnqueueStatus.QUEUED
    fleet.store.run(calls.limits_drop("acme"))
    assert fleet.refused(job("t")) is Refusal.MAX_PENDING


def test_nothing_is_spent_at_first(fleet: Fleet, database: Database) -> None:
    """Asking makes no key, nor does an end for which nothing was paid."""
    assert fleet.spent() == Spent(0, 0.0)
    fleet.put(job("s"))
    fleet.done(fleet.taken())
    assert not database.exists(SPENT)


def test_small_amounts_add_up_exactly(fleet: Fleet) -> None:
    """Ten times a tenth is a dollar: no share of a cent is lost on the way, or comes from nowhere."""
    fleet.put(job("s"))
    running = fleet.taken()
    for _ in range(10):
        fleet.renew(running, Paid(1, 0.1))
    assert fleet.spent() == Spent(10, 1.0)
    fleet.done(running, Paid(0, 0.000001))
    assert fleet.spent() == Spent(10, 1.000001)


def test_amounts_may_be_large(fleet: Fleet) -> None:
    """Numbers beyond 32 bits stay whole."""
    fleet.put(job("s"))
    fleet.done(fleet.taken(), Paid(10**13 + 1, 10**8 + 0.000001))
    assert fleet.spent() == Spent(10**13 + 1, 10**8 + 0.000001)


def test_what_is_paid_after_the_index_was_lost_runs_out(fleet: Fleet, database: Database) -> None:
    """It is counted, in a key that lives for a day: no later script may ever come."""
    fleet.put(job("s"))
    running = fleet.taken()
    kept = {key: database.dump(key) for key in database.scan_iter(match="ebbtide:*") if b"{test}" in key}
    database.flushdb()
    for key, value in kept.items():
        database.restore(key, 60_000, value)
    assert fleet.renew(running, Paid(5)) is RenewStatus.LOST
    assert fleet.spent() == Spent(5, 0.0)
    assert 0 < database.ttl(SPENT) <= DAY


@pytest.mark.parametrize("days", [1, 2, 40])
def test_maintenance_forgets_other_days(fleet: Fleet, clock: Clock, database: Database, days: int) -> None:
    """What was paid today stays; the rest goes, so that tenants which are gone leave nothing behind."""
    fleet.put(job("s", "a"), job("s", "b"))
    old, other = fleet.taken(), fleet.taken()
    fleet.renew(old, Paid(1))
    fleet.sweep()
    clock.advance(days * DAY)
    fleet.renew(other, Paid(2))
    assert database.hlen(SPENT) == 2
    fleet.sweep()
    assert database.hkeys(SPENT) == [b"b"]
    assert (fleet.spent("a"), fleet.spent("b")) == (Spent(0, 0.0), Spent(2, 0.0))


def test_a_clock_set_back_over_midnight_tells_no_other_day(fleet: Fleet, clock: Clock) -> None:
    """Days are told apart, whichever comes later."""
    fleet.put(job("s"))
    running = fleet.taken()
    fleet.renew(running, Paid(7))
    clock.advance(-DAY)
    assert fleet.spent() == Spent(0, 0.0)
    fleet.renew(running, Paid(3))
    assert fleet.spent() == Spent(3, 0.0)


def test_many_capped_tenants_are_passed_over(fleet: Fleet) -> None:
    """The one that may have more by its own limits is found however many capped ones stand before it."""
    tenants = [f"t{i:03}" for i in range(70)]
    fleet.limit(None, concurrency=1)
    fleet.limit("t069", concurrency=2)
    fleet.put(*[job(s, t) for t in tenants for s in ("1", "2")])
    for _ in tenants:
        fleet.taken()
    assert fleet.taken().tenant == "t069"
    assert fleet.take().job is None


def test_budgets_without_payments_are_open(fleet: Fleet) -> None:
    """A budget of nothing is used up from the start, one of a millionth is not."""
    fleet.limit("acme", spend_a_day=0.000001)
    fleet.put(job("s"))
    assert fleet.renew(fleet.taken()) is RenewStatus.RENEWED
    fleet.limit("acme", spend_a_day=0.0)
    assert fleet.refused(job("t")) is Refusal.SPEND_A_DAY


def test_what_was_paid_outlives_a_short_life_of_the_index(fleet: Fleet, database: Database) -> None:
    """A host may ask for a state that lives a minute: the tenant's day is not forgotten with it."""
    fleet.store.run(calls.enqueue(job("s"), ttl=60))
    fleet.store.run(calls.done(job("s"), Paid(5, 0.5)))
    assert database.pttl(names.fleet("ready")) <= 60_000
    assert database.pttl(SPENT) > 60_000
