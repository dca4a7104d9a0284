"""A tenant's policy and block: kept for good, kept for a while, read together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ebbtide_core import names
from ebbtide_core.contract.tenant import BlockReason, Hop, TenantPolicy
from ebbtide_core.economy.rates import Rates
from ebbtide_core.errors import ContractError
from ebbtide_core.policy import Mode
from ebbtide_core.store import tenant_calls
from ebbtide_core.store.tenant_calls import StandingRead

if TYPE_CHECKING:
    from ebbtide_core.store.client import SyncStore
    from tests.store.clock import Database

NAME = "acme:{}/% é"
HOPS = st.builds(
    Hop,
    summariser=st.sampled_from(["", "anthropic"]),
    credentials=st.sampled_from(["", "env:KEY"]),
    window=st.none() | st.integers(1, 10**6),
    rates=st.none() | st.just(Rates(1.0, 5.0, 1.25, 0.1, above=9, long=Rates(2.0, 10.0, 2.5, 0.2))),
)
POLICIES = st.builds(
    TenantPolicy,
    mode=st.sampled_from(Mode),
    weight=st.integers(1, 100),
    max_pending=st.none() | st.integers(0, 100),
    spend_a_day=st.none() | st.floats(0, 1e6),
    route=st.lists(HOPS, max_size=3).map(tuple),
)


@given(POLICIES, POLICIES)
def test_a_policy_is_read_as_it_was_stored(
    store: SyncStore, own: TenantPolicy, default: TenantPolicy
) -> None:
    """A tenant's and the default, each under its own name."""
    store.run(tenant_calls.policy_put(NAME, own))
    store.run(tenant_calls.default_put(default))
    assert store.run(tenant_calls.policy_get(NAME)) == own
    assert store.run(tenant_calls.default_get()) == default
    assert store.run(tenant_calls.standing(NAME)) == StandingRead(own)


def test_a_declaration_never_runs_out(store: SyncStore, database: Database) -> None:
    """Whatever lived under its name before."""
    database.set(names.tenant_policy(NAME), "x", px=60_000)
    store.run(tenant_calls.policy_put(NAME, TenantPolicy()))
    store.run(tenant_calls.default_put(TenantPolicy()))
    assert [database.pttl(key) for key in (names.tenant_policy(NAME), names.fleet("default"))] == [-1, -1]


def test_what_is_taken_back_is_gone(store: SyncStore) -> None:
    """And said to have been there, once."""
    store.run(tenant_calls.policy_put(NAME, TenantPolicy()))
    store.run(tenant_calls.default_put(TenantPolicy()))
    for call, read in (
        (tenant_calls.policy_drop(NAME), tenant_calls.policy_get(NAME)),
        (tenant_calls.default_drop(), tenant_calls.default_get()),
    ):
        assert [store.run(call), store.run(call), store.run(read)] == [True, False, None]
    assert store.run(tenant_calls.standing(NAME)) == StandingRead()


def test_a_block_for_an_unknown_reason_stands(store: SyncStore, database: Database) -> None:
    """Newer workers may know more reasons; a host of before holds back all the same."""
    database.set(names.tenant_block(NAME), "moon_phase", px=60_000)
    assert store.run(tenant_calls.standing(NAME)).block is BlockReason.PROVIDER_DOWN


def test_a_block_stands_for_its_seconds(store: SyncStore, database: Database) -> None:
    """The last one told holds; it is gone with its time, or when it is lifted."""
    store.run(tenant_calls.block_put(NAME, BlockReason.PROVIDER_DOWN, 600))
    store.run(tenant_calls.block_put(NAME, BlockReason.SPEND_LIMIT, 60))
    read = store.run(tenant_calls.standing(NAME))
    assert (read.policy, read.block) == (None, BlockReason.SPEND_LIMIT)
    assert 50 < read.block_seconds <= 60
    assert 50_000 < database.pttl(names.tenant_block(NAME)) <= 60_000
    assert store.run(tenant_calls.standing("another")) == StandingRead()
    assert [store.run(tenant_calls.block_drop(NAME)) for _ in range(2)] == [True, False]
    assert store.run(tenant_calls.standing(NAME)) == StandingRead()


def test_a_policy_of_another_contract_is_an_error(store: SyncStore, database: Database) -> None:
    """So is one that is damaged; a reader goes on with what it knew."""
    for document in (b'{"major": 99}', b"damaged"):
        database.set(names.tenant_policy(NAME), document, px=60_000)
        with pytest.raises(ContractError):
            store.run(tenant_calls.standing(NAME))
