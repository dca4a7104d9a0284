"""What a pool knows of its tenants: read in the background, now and then, bounded, kept while the store is
away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ebbtide.errand import Errand
from ebbtide.tenants import MAX_TENANTS, Tenants
from ebbtide_cli.embedded import EmbeddedServer
from ebbtide_core.contract.tenant import REFRESH_SECONDS, BlockReason, TenantPolicy, TenantStanding
from ebbtide_core.errors import StoreUnavailable
from ebbtide_core.policy import Mode
from ebbtide_core.store import tenant_calls
from ebbtide_core.store.client import SyncStore

NAMED, SHADOWED = TenantPolicy(breaker_cooldown=7), TenantPolicy(mode=Mode.SHADOW)


class Patient:
    """Takes errands, and carries them out when told to; at a time that the test sets."""

    def __init__(self, store: SyncStore) -> None:
        self.store = store
        self.now = 1_000.0
        self.away = False
        self.taken: list[Errand] = []

    def clock(self) -> float:
        """Tell the time."""
        return self.now

    def run(self, errand: Errand) -> bool:
        """Take an errand unless the store is away."""
        if not self.away:
            self.taken.append(errand)
        return not self.away

    def carry_out(self) -> int:
        """Carry all errands out and return how many there were; faults end here, as in the courier."""
        errands, self.taken = self.taken, []
        for errand in errands:
            try:
                errand.run(self.store)
            except StoreUnavailable:
                continue
        return len(errands)


@pytest.fixture
def patient(worker_store: SyncStore) -> Patient:
    """A background on the embedded server."""
    return Patient(worker_store)


@pytest.fixture
def tenants(patient: Patient) -> Tenants:
    """Tenants read by it."""
    return Tenants(patient, patient.clock)


@pytest.fixture
def gone() -> Iterator[SyncStore]:
    """A store that does not answer."""
    store = SyncStore("redis://127.0.0.1:1/0", timeout=0.2)
    yield store
    store.close()


def test_nothing_is_limited_until_the_policy_is_there(patient: Patient, tenants: Tenants) -> None:
    """The first question begins the read and does not wait for it."""
    patient.store.run(tenant_calls.policy_put("acme", NAMED))
    assert tenants.of("acme") == TenantStanding()
    assert patient.carry_out() == 1
    assert tenants.of("acme").policy == NAMED


def test_a_tenant_is_read_anew_after_ten_seconds_of_use(patient: Patient, tenants: Tenants) -> None:
    """Not before, however often it is asked for; what was read stands meanwhile."""
    tenants.of("acme")
    patient.carry_out()
    patient.store.run(tenant_calls.policy_put("acme", SHADOWED))
    patient.now += REFRESH_SECONDS - 0.1
    assert tenants.of("acme").policy == TenantPolicy()
    assert patient.carry_out() == 0
    patient.now += 0.1
    tenants.of("acme")
    tenants.of("acme")
    assert patient.carry_out() == 1
    assert tenants.of("acme").policy == SHADOWED


def test_a_tenant_without_a_policy_has_the_default(patient: Patient, tenants: Tenants) -> None:
    """It is read with the tenant, once for all of them in ten seconds; an own policy stands instead."""
    patient.store.run(tenant_calls.default_put(SHADOWED))
    patient.store.run(tenant_calls.policy_put("own", NAMED))
    for name in ("a", "b", "own"):
        tenants.of(name)
    assert patient.store.run(tenant_calls.default_get()) == SHADOWED
    before = patient.store.stats.scripts["get"]
    patient.carry_out()
    assert patient.store.stats.scripts["get"] == before + 1
    assert [tenants.of(name).policy for name in ("a", "b", "own")] == [SHADOWED, SHADOWED, NAMED]


def test_a_block_ends_by_its_seconds(patient: Patient, tenants: Tenants) -> None:
    """By the pool's clock, also while the store can't be asked."""
    patient.store.run(tenant_calls.block_put("acme", BlockReason.AUTH, 60))
    tenants.of("acme")
    patient.carry_out()
    standing = tenants.of("acme")
    assert standing.block is BlockReason.AUTH
    assert 50 < standing.block_seconds <= 60
    patient.away = True
    patient.now += standing.block_seconds - 1
    assert tenants.of("acme").block is BlockReason.AUTH
    patient.now += 1.001
    assert tenants.of("acme") == TenantStanding()


def test_a_block_that_was_lifted_is_no_block_at_the_next_read(patient: Patient, tenants: Tenants) -> None:
    """Its seconds are an upper bound."""
    patient.store.run(tenant_calls.block_put("acme", BlockReason.SPEND_LIMIT, 600))
    tenants.of("acme")
    patient.carry_out()
    patient.store.run(tenant_calls.block_drop("acme"))
    patient.now += REFRESH_SECONDS
    tenants.of("acme")
    patient.carry_out()
    assert tenants.of("acme").block is None


def test_what_was_known_holds_while_the_store_is_away(
    patient: Patient, tenants: Tenants, gone: SyncStore
) -> None:
    """A read that fails changes nothing; while none can be made it is due, and made as soon as it can."""
    patient.store.run(tenant_calls.policy_put("acme", NAMED))
    tenants.of("acme")
    patient.carry_out()
    there, patient.store = patient.store, gone
    patient.now += REFRESH_SECONDS
    assert tenants.of("acme").policy == NAMED
    assert patient.carry_out() == 1
    patient.away = True
    patient.now += REFRESH_SECONDS
    assert tenants.of("acme").policy == NAMED
    assert patient.carry_out() == 0
    patient.away, patient.store = False, there
    patient.store.run(tenant_calls.policy_put("acme", SHADOWED))
    tenants.of("acme")
    assert patient.carry_out() == 1
    assert tenants.of("acme").policy == SHADOWED


def test_a_bounded_number_is_remembered(patient: Patient, tenants: Tenants) -> None:
    """The tenant asked for longest ago is forgotten first, and read again when it comes back."""
    for n in range(MAX_TENANTS):
        tenants.of(str(n))
    tenants.of("0")
    tenants.of("one more")
    patient.taken.clear()
    tenants.of("0")
    assert patient.taken == []
    tenants.of("1")
    assert len(patient.taken) == 1


def test_tenants_do_not_see_each_other(patient: Patient, tenants: Tenants, server: EmbeddedServer) -> None:
    """Law 13: a policy or block of one is none of another's, however alike their names."""
    patient.store.run(tenant_calls.policy_put("a:b", SHADOWED))
    patient.store.run(tenant_calls.block_put("a:b", BlockReason.AUTH, 60))
    for name in ("a:b", "a", "b", "a%3Ab"):
        tenants.of(name)
    patient.carry_out()
    assert tenants.of("a:b").block is BlockReason.AUTH
    assert all(tenants.of(name) == TenantStanding() for name in ("a", "b", "a%3Ab"))
